/** One connection to the control socket: what its client asks for, and what is held for it. */

import type { Socket } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import { readLines, sendLine, type Frozen, type Reply } from './line-protocol.ts'

/** The parts of the service that a backup holds still while it copies. */
export interface Holds {
  /** Resolves when nothing is on its way to the store, and keeps it so. */
  readonly holdStore: () => Promise<() => void>
  /** Keeps segments of the spool that could be released. */
  readonly keepSpool: () => () => void
  readonly freezeStore: () => Promise<Omit<Frozen, 'hasMasterKey'>>
  /** Removes what was frozen, and what an earlier process has left. */
  readonly thawStore: () => Promise<void>
  /** Share of the spool's limit that is used. */
  readonly spoolShare: () => number
  readonly hasMasterKey: boolean
}

export interface ControlSessionOptions extends Holds {
  readonly clock: Clock
  readonly onFailure: (cause: unknown) => void
  /** Whether this connection gets the one turn that there is; it has it until it ends. */
  readonly takeTurn: () => boolean
}

export interface ControlSession {
  /** Undoes whatever is in force. */
  end(): Promise<void>
}

/** How long a connection may be open before it asks for something. */
const ASK_WITHIN_MS = 10_000
/** How long the store may be busy with a flush before a backup is refused. */
const HOLD_WITHIN_MS = 30_000
/** How long nothing goes to the store at most. */
const FROZEN_MS_MAX = 30_000
const CHECK_EVERY_MS = 1_000
const SPOOL_SHARE_MAX = 0.5

export function createControlSession(socket: Socket, options: ControlSessionOptions): ControlSession {
  const { holdStore, keepSpool, freezeStore, thawStore, spoolShare, hasMasterKey, clock, onFailure, takeTurn } = options
  const { promise: ending, resolve: stopWaiting } = Promise.withResolvers<false>()
  let state: 'new' | 'freezing' | 'frozen' | 'resumed' | 'released' | 'ended' = 'new'
  let openStore = (): void => {}
  let releaseSpool = (): void => {}
  let cancel = clock.after(ASK_WITHIN_MS, () => socket.destroy())
  let freezing: Promise<void> | null = null

  const isEnded = (): boolean => state === 'ended'

  /** What was frozen is removed when the connection has closed. */
  function letGo(): void {
    if (isEnded()) return
    state = 'ended'
    cancel()
    openStore()
    releaseSpool()
    stopWaiting(false)
  }

  function refuse(reason: string): void {
    if (isEnded()) return
    letGo()
    sendLine(socket, { reply: 'refused', reason } satisfies Reply)
    socket.destroySoon()
  }

  async function freeze(): Promise<void> {
    const holding = holdStore()
    if (!(await isHeld(holding))) {
      void holding.then((open) => open())
      return refuse('the store is not accepting rows, so a copy of it would be incomplete; try again later')
    }
    openStore = await holding
    if (isEnded()) return openStore()
    cancel = clock.after(FROZEN_MS_MAX, () => refuse('copying did not start in time'))
    releaseSpool = keepSpool()
    const frozen: Frozen = { ...(await freezeStore()), hasMasterKey }
    if (isEnded()) return
    state = 'frozen'
    sendLine(socket, { reply: 'frozen', frozen } satisfies Reply)
  }

  /** False if that takes too long, or if the connection ends first. */
  async function isHeld(holding: Promise<unknown>): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>()
    cancel = clock.after(HOLD_WITHIN_MS, () => resolve(false))
    const isDone = await Promise.race([holding.then(() => true), late, ending])
    cancel()
    return isDone
  }

  function beginToFreeze(): void {
    cancel()
    if (!takeTurn()) return refuse('another backup is running')
    state = 'freezing'
    freezing = freeze().catch((cause: unknown) => {
      onFailure(cause)
      refuse('the store could not be frozen; see the log of the service')
    })
  }

  function resume(): void {
    state = 'resumed'
    cancel()
    openStore()
    cancel = clock.every(CHECK_EVERY_MS, () => {
      if (spoolShare() > SPOOL_SHARE_MAX)
        refuse(
          'the spool is half full, because the copy takes too long; the service no longer keeps its segments for the backup',
        )
    })
    sendLine(socket, { reply: 'resumed' } satisfies Reply)
  }

  function release(): void {
    state = 'released'
    cancel()
    releaseSpool()
    sendLine(socket, { reply: 'released' } satisfies Reply)
  }

  readLines(socket, (message) => {
    const ask = (message as { ask?: unknown } | null)?.ask
    if (ask === 'freeze' && state === 'new') beginToFreeze()
    else if (ask === 'resume' && state === 'frozen') resume()
    else if (ask === 'release' && state === 'resumed') release()
    else if (!isEnded()) socket.destroy()
  })

  return {
    async end() {
      letGo()
      if (freezing === null) return
      await freezing
      await thawStore()
    },
  }
}
