/**
 * Serves the control socket, through which `tollgate backup` freezes the data folder of the running service while it copies it.
 *
 * One backup runs at a time. The service does not depend on the client: it resumes when the connection ends, when the client
 * exceeds a time limit, and when the spool, which keeps its segments during a backup, becomes half full. It closes a connection that sends no request.
 */

import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import { createControlSession, type ControlSessionOptions } from './control-session.ts'
import { SOCKET_NAME } from './line-protocol.ts'

export interface ControlSocketOptions extends Omit<ControlSessionOptions, 'claimBackup'> {
  readonly dataDir: string
}

export interface ControlSocket {
  /** Closes all connections; resolves when each session has released what it holds. */
  close(): Promise<void>
}

/** `sun_path` of Linux has 108 bytes, that of macOS 104. */
const PATH_BYTES_MAX = 100
/** Further connections are closed immediately. */
const CONNECTIONS_MAX = 8
const PRIVATE_UMASK = 0o077

/** Returns the socket path in `dataDir`; if it is too long, the path relative to the working directory, unless that one is longer. */
export function socketPath(dataDir: string): string {
  const path = join(dataDir, SOCKET_NAME)
  const short = relative(process.cwd(), path)
  return Buffer.byteLength(path) <= PATH_BYTES_MAX || short.length > path.length ? path : short
}

export async function openControlSocket(options: ControlSocketOptions): Promise<ControlSocket> {
  const { dataDir, onFailure } = options
  const path = socketPath(dataDir)
  /** Open connections, each with the promise that resolves when its session has released everything. */
  const connections = new Map<Socket, Promise<void>>()
  let backupClient: Socket | null = null
  rmSync(join(dataDir, SOCKET_NAME), { force: true })
  // An earlier process may have ended during a backup and left the store frozen.
  await options.thawStore()

  const server = createServer((socket) => {
    const claimBackup = (): boolean => {
      if (backupClient !== null) return false
      backupClient = socket
      return true
    }
    socket.on('error', () => socket.destroy())
    const session = createControlSession(socket, { ...options, claimBackup })
    const closed = new Promise<void>((done) => socket.once('close', () => done()))
    const ended = closed
      .then(() => session.end())
      .catch(onFailure)
      .then(() => {
        connections.delete(socket)
        if (backupClient === socket) backupClient = null
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

/** `server.listen` creates the socket file synchronously, so the umask makes the file private from the start. */
function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const previousUmask = process.umask(PRIVATE_UMASK)
  try {
    server.once('error', reject)
    server.listen(path, resolve)
    if (server.listening) chmodSync(path, 0o600)
  } finally {
    process.umask(previousUmask)
  }
  return promise
}
