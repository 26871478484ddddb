/** One connection to the control socket: handles the requests of its client, and holds inserts and spool segments for its backup. */

import type { Socket } from 'node:net'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { readLines, sendLine, type Frozen, type Reply } from './line-protocol.ts'

/** Functions of the service that a backup needs: pausing inserts, keeping spool segments, freezing the store, and two facts. */
export interface Holds {
  /** Pauses inserts: resolves when no insert is in flight, with the function that resumes them. */
  readonly holdStore: () => Promise<() => void>
  /** Stops the release of spool segments. Returns the function that resumes it. */
  readonly keepSpool: () => () => void
  readonly freezeStore: () => Promise<Omit<Frozen, 'hasMasterKey'>>
  /** Removes the frozen parts of the store, including those that an earlier process left. */
  readonly thawStore: () => Promise<void>
  /** Share of the spool's limit that is used. */
  readonly spoolShare: () => number
  readonly hasMasterKey: boolean
}

export interface ControlSessionOptions extends Holds {
  readonly clock: Clock
  readonly onFailure: (cause: unknown) => void
  /** Claims the only backup slot for this connection, until its session has ended. Returns false if another connection holds the slot. */
  readonly claimBackup: () => boolean
}

export interface ControlSession {
  /** Releases everything that the session holds. */
  end(): Promise<void>
}

/** Maximum time from connection to the first request. */
const REQUEST_WITHIN_MS = 10_000
/** Maximum wait for a running flush before the backup is refused. */
const HOLD_WITHIN_MS = 30_000
/** Maximum time without inserts into the store. */
const FROZEN_MS_MAX = 30_000
const CHECK_EVERY_MS = 1_000
const SPOOL_SHARE_MAX = 0.5
const SPOOL_HALF_FULL =
  'the spool became half full before the copy was complete, so the service no longer keeps spool segments for the backup'

type State = 'new' | 'freezing' | 'frozen' | 'resumed' | 'released' | 'ended'

export function createControlSession(socket: Socket, options: ControlSessionOptions): ControlSession {
  const session = new Session(socket, options)
  readLines(socket, (message) => session.receive(message))
  return session
}

class Session implements ControlSession {
  readonly #socket: Socket
  readonly #options: ControlSessionOptions
  /** Resolves when the session ends, to abort a wait for the store. */
  readonly #ending = Promise.withResolvers<false>()
  #state: State = 'new'
  #resumeInserts = (): void => {}
  #releaseSpool = (): void => {}
  #cancelTimer: () => void
  #freezing: Promise<void> | null = null

  constructor(socket: Socket, options: ControlSessionOptions) {
    this.#socket = socket
    this.#options = options
    this.#cancelTimer = options.clock.after(REQUEST_WITHIN_MS, () => socket.destroy())
  }

  /** Accepts freeze, resume and release in this order; closes the connection on anything else, unless the session has ended. */
  receive(message: unknown): void {
    const command = (message as { ask?: unknown } | null)?.ask
    if (command === 'freeze' && this.#state === 'new') this.#startFreeze()
    else if (command === 'resume' && this.#state === 'frozen') this.#resume()
    else if (command === 'release' && this.#state === 'resumed') this.#release()
    else if (!this.#isEnded()) this.#socket.destroy()
  }

  async end(): Promise<void> {
    this.#letGo()
    if (this.#freezing === null) return
    await this.#freezing
    await this.#options.thawStore()
  }

  #startFreeze(): void {
    this.#cancelTimer()
    if (!this.#options.claimBackup()) return this.#refuse('another backup is running')
    this.#state = 'freezing'
    this.#freezing = this.#freeze().catch((cause: unknown) => {
      this.#options.onFailure(cause)
      this.#refuse('the store could not be frozen; see the log of the service')
    })
  }

  async #freeze(): Promise<void> {
    const { holdStore, keepSpool, freezeStore, hasMasterKey, clock } = this.#options
    const holding = holdStore()
    if (!(await this.#isHeld(holding))) {
      void holding.then((resume) => resume())
      return this.#refuse(
        'inserts into the store did not finish within 30 seconds, so a copy of it could be incomplete; try again later',
      )
    }
    this.#resumeInserts = await holding
    if (this.#isEnded()) return this.#resumeInserts()
    this.#cancelTimer = clock.after(FROZEN_MS_MAX, () =>
      this.#refuse('the backup held inserts for longer than 30 seconds'),
    )
    this.#releaseSpool = keepSpool()
    const frozen: Frozen = { ...(await freezeStore()), hasMasterKey }
    if (this.#isEnded()) return
    this.#state = 'frozen'
    this.#send({ reply: 'frozen', frozen })
  }

  /** False if the store is not paused within the time limit, or if the connection ends first. */
  async #isHeld(holding: Promise<unknown>): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>()
    this.#cancelTimer = this.#options.clock.after(HOLD_WITHIN_MS, () => resolve(false))
    const isHeld = await Promise.race([holding.then(() => true), late, this.#ending.promise])
    this.#cancelTimer()
    return isHeld
  }

  #resume(): void {
    const { clock, spoolShare } = this.#options
    this.#state = 'resumed'
    this.#cancelTimer()
    this.#resumeInserts()
    this.#cancelTimer = clock.every(CHECK_EVERY_MS, () => {
      if (spoolShare() > SPOOL_SHARE_MAX) this.#refuse(SPOOL_HALF_FULL)
    })
    this.#send({ reply: 'resumed' })
  }

  #release(): void {
    this.#state = 'released'
    this.#cancelTimer()
    this.#releaseSpool()
    this.#send({ reply: 'released' })
  }

  #refuse(reason: string): void {
    if (this.#isEnded()) return
    this.#letGo()
    this.#send({ reply: 'refused', reason })
    this.#socket.destroySoon()
  }

  /** Releases everything but the frozen parts, which `end` removes after the connection has closed. */
  #letGo(): void {
    if (this.#isEnded()) return
    this.#state = 'ended'
    this.#cancelTimer()
    this.#resumeInserts()
    this.#releaseSpool()
    this.#ending.resolve(false)
  }

  #isEnded(): boolean {
    return this.#state === 'ended'
  }

  #send(reply: Reply): void {
    sendLine(this.#socket, reply)
  }
}
