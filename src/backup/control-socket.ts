/**
 * The running service's side of a backup: freezes its data folder for `tollgate backup`, which copies it.
 *
 * One backup at a time. Nothing depends on the client: what was held back goes on when the connection ends, when the client does not
 * go on in time, and when the spool becomes half full because its segments are kept. A connection that asks nothing is ended.
 */

import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import { createControlSession, type ControlSessionOptions } from './control-session.ts'
import { SOCKET_NAME } from './line-protocol.ts'

export interface ControlSocketOptions extends Omit<ControlSessionOptions, 'takeTurn'> {
  readonly dataDir: string
}

export interface ControlSocket {
  /** Resolves when nothing is held any more. */
  close(): Promise<void>
}

/** `sun_path` of Linux has 108 bytes, that of macOS 104. */
const PATH_BYTES_MAX = 100
/** Further ones are closed at once. */
const CONNECTIONS_MAX = 8
const PRIVATE_UMASK = 0o077

/** Where the socket is, as short as it can be said. */
export function socketPath(dataDir: string): string {
  const path = join(dataDir, SOCKET_NAME)
  const short = relative(process.cwd(), path)
  return Buffer.byteLength(path) <= PATH_BYTES_MAX || short.length > path.length ? path : short
}

export async function openControlSocket(options: ControlSocketOptions): Promise<ControlSocket> {
  const { dataDir, onFailure } = options
  const path = socketPath(dataDir)
  /** Open connections, each until what it held is undone. */
  const connections = new Map<Socket, Promise<void>>()
  let current: Socket | null = null
  rmSync(join(dataDir, SOCKET_NAME), { force: true })
  await options.thawStore()

  const server = createServer((socket) => {
    const takeTurn = (): boolean => {
      if (current !== null) return false
      current = socket
      return true
    }
    socket.on('error', () => socket.destroy())
    const session = createControlSession(socket, { ...options, takeTurn })
    const closed = new Promise<void>((done) => socket.once('close', () => done()))
    const ended = closed
      .then(() => session.end())
      .catch(onFailure)
      .then(() => {
        connections.delete(socket)
        if (current === socket) current = null
      })
    connections.set(socket, ended)
  })
  server.maxConnections = CONNECTIONS_MAX
  await listen(server, path)
  return {
    async close() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      for (const socket of connections.keys()) socket.destroy()
      await Promise.all([closed, ...connections.values()])
    },
  }
}

/** The socket is bound when `listen` returns; the mask makes it the owner's alone from that moment on. */
function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const before = process.umask(PRIVATE_UMASK)
  try {
    server.once('error', reject)
    server.listen(path, resolve)
    if (server.listening) chmodSync(path, 0o600)
  } finally {
    process.umask(before)
  }
  return promise
}
