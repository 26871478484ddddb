/**
 * The messages that `tollgate backup` and the running service exchange over `DATA_DIR/control.sock`: JSON, a line each.
 *
 *   freeze ─▶ frozen      nothing goes to the store, its parts are linked, no segment of the spool is released
 *   resume ─▶ resumed     the store takes rows again
 *   release ─▶ released   segments are released again
 *
 * The end of the connection undoes whatever is still in force.
 */

import type { Socket } from 'node:net'

export const SOCKET_NAME = 'control.sock'

export type Ask = 'freeze' | 'resume' | 'release'

export interface Frozen {
  /** Folder of the linked parts of the store; null: the store is a server elsewhere. */
  readonly folder: string | null
  readonly server: string | null
  /** Calls of the line items in the store, without the platform's own. */
  readonly calls: number
  /** Whether the service got its master key from the environment: the folder has none then. */
  readonly hasMasterKey: boolean
}

export type Reply =
  | { readonly reply: 'frozen'; readonly frozen: Frozen }
  | { readonly reply: 'resumed' | 'released' }
  /** Nothing is in force after it. */
  | { readonly reply: 'refused'; readonly reason: string }

const LINE_BYTES_MAX = 64 * 1024

export function sendLine(socket: Socket, message: object): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`)
}

/** Calls `onMessage` for each line until the connection ends; ends a connection that sends what is none. */
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
