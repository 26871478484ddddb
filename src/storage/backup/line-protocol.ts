/**
 * Messages between `tollgate backup` and the running service over `DATA_DIR/control.sock`: JSON, one message per line.
 *
 *   freeze ─▶ frozen      inserts into the store are paused, its parts are linked, no segment of the spool is released
 *   resume ─▶ resumed     the store takes rows again
 *   release ─▶ released   segments are released again
 *
 * When the connection ends, the service releases everything that is still held.
 */

import type { Socket } from 'node:net'

export const SOCKET_NAME = 'control.sock'

export type Command = 'freeze' | 'resume' | 'release'

export interface Frozen {
  /** Folder of the linked parts of the store; null: the store is a server elsewhere. */
  readonly folder: string | null
  readonly server: string | null
  /** Number of calls in the line items of the store, without calls of the platform's own API. */
  readonly calls: number
  /** False: the service gets its master key from the environment, so the folder has none. */
  readonly hasMasterKey: boolean
}

export type Reply =
  | { readonly reply: 'frozen'; readonly frozen: Frozen }
  | { readonly reply: 'resumed' | 'released' }
  /** The service has released everything. */
  | { readonly reply: 'refused'; readonly reason: string }

const LINE_BYTES_MAX = 64 * 1024

export function sendLine(socket: Socket, message: object): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`)
}

/** Calls `onMessage` for each line until the connection ends. Closes a connection that sends invalid JSON or an overlong line. */
export function readLines(socket: Socket, onMessage: (message: unknown) => void): void {
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n'); end >= 0 && !socket.destroyed; end = text.indexOf('\n')) {
      const line = text.slice(0, end)
      text = text.slice(end + 1)
      try {
        onMessage(JSON.parse(line))
      } catch {
        socket.destroy()
      }
    }
    if (text.length > LINE_BYTES_MAX) socket.destroy()
  })
}
