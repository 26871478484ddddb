/**
 * The running service's side of a backup: freezes its data folder for `tollgate backup`, which copies it.
 *
 * One backup at a time. Nothing depends on the client: what was held back goes on when the connection ends, when the client does not
 * go on within `FROZEN_MS_MAX`, and when the spool becomes half full because its segments are kept.
 */

import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import type { Clock } from '../runtime/clock.ts'
import { readLines, sendLine, SOCKET_NAME, type Frozen, type Reply } from './line-protocol.ts'

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

export interface ControlSocketOptions extends Holds {
  readonly dataDir: string
  readonly clock: Clock
  readonly onFailure: (cause: unknown) => void
}

export interface ControlSocket {
  close(): Promise<void>
}

/** How long the store may be busy with a flush before a backup is refused. */
const HOLD_WITHIN_MS = 30_000
/** How long nothing goes to the store at most. */
const FROZEN_MS_MAX = 30_000
const CHECK_EVERY_MS = 1_000
const SPOOL_SHARE_MAX = 0.5
/** `sun_path` of Linux has 108 bytes, that of macOS 104. */
const PATH_BYTES_MAX = 100

/** Where the socket is, as short as it can be said. */
export function socketPath(dataDir: string): string {
  const path = join(dataDir, SOCKET_NAME)
  const short = relative(process.cwd(), path)
  return Buffer.byteLength(path) <= PATH_BYTES_MAX || short.length > path.length ? path : short
}

export async function openControlSocket(options: ControlSocketOptions): Promise<ControlSocket> {
  const { dataDir, onFailure } = options
  const path = socketPath(dataDir)
  let current: Socket | null = null
  rmSync(join(dataDir, SOCKET_NAME), { force: true })
  await options.thawStore()

  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    if (current !== null) return refuseSecond(socket)
    current = socket
    const session = createSession(socket, options)
    socket.once('close', () => {
      session.end().then(() => (current = null), onFailure)
    })
  })
  await listen(server, path)
  return {
    async close() {
      const ended = new Promise<void>((done) => server.close(() => done()))
      current?.destroy()
      await ended
    },
  }
}

/** The socket is bound when `listen` returns, so it is the owner's alone before the first connection is accepted. */
function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(path, resolve)
  if (server.listening) chmodSync(path, 0o600)
  return promise
}

/** When it has asked: data that arrives at a connection which is closed would reset it, and the reason would be lost. */
function refuseSecond(socket: Socket): void {
  readLines(socket, () => {
    sendLine(socket, { reply: 'refused', reason: 'another backup is running' } satisfies Reply)
    socket.destroySoon()
  })
}

interface Session {
  /** Undoes whatever is in force. */
  end(): Promise<void>
}

function createSession(socket: Socket, options: ControlSocketOptions): Session {
  const { holdStore, keepSpool, freezeStore, thawStore, spoolShare, hasMasterKey, clock, onFailure } = options
  let state: 'new' | 'frozen' | 'resumed' | 'released' = 'new'
  let openStore = (): void => {}
  let releaseSpool = (): void => {}
  let cancel = (): void => {}
  let working: Promise<void> = Promise.resolve()

  function refuse(reason: string): void {
    sendLine(socket, { reply: 'refused', reason } satisfies Reply)
    socket.destroySoon()
  }

  async function freeze(): Promise<void> {
    state = 'frozen'
    const held = holdStore()
    if (!(await isWithin(held, HOLD_WITHIN_MS, clock))) {
      void held.then((open) => open())
      return refuse('the store does not take rows at the moment, so that no copy of it would be whole; try again later')
    }
    openStore = await held
    if (socket.destroyed) return openStore()
    cancel = clock.after(FROZEN_MS_MAX, () => refuse('the copy took too long to begin'))
    releaseSpool = keepSpool()
    const frozen: Frozen = { ...(await freezeStore()), hasMasterKey }
    sendLine(socket, { reply: 'frozen', frozen } satisfies Reply)
  }

  function resume(): void {
    state = 'resumed'
    cancel()
    openStore()
    cancel = clock.every(CHECK_EVERY_MS, () => {
      if (spoolShare() > SPOOL_SHARE_MAX)
        refuse('the spool is half full; it is copied too slowly to be kept for longer')
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
    if (ask === 'freeze' && state === 'new') {
      working = freeze().catch((cause: unknown) => {
        onFailure(cause)
        refuse('the store could not be frozen; the log of the service says why')
      })
    } else if (ask === 'resume' && state === 'frozen') resume()
    else if (ask === 'release' && state === 'resumed') release()
    else socket.destroy()
  })

  return {
    async end() {
      await working
      cancel()
      openStore()
      releaseSpool()
      if (state !== 'new') await thawStore()
    },
  }
}

async function isWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const cancel = clock.after(ms, () => resolve(false))
  const isDone = await Promise.race([work.then(() => true), late])
  cancel()
  return isDone
}
