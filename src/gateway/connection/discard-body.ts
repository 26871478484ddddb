/**
 * Discards the rest of a body that nobody will read, once its call has been answered.
 *
 * A connection that is closed with bytes unread is reset, and a reset can take the response with it
 * before the client has seen it. So the rest is read and thrown away for a moment; a client that has not
 * ended by then, or sends more than the bound, is disconnected. A short rest leaves the connection usable.
 * While the response waits behind others on its connection, the moment has not begun.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const BYTES_MAX = 1024 * 1024
const WITHIN_MS = 1_000

/** An unread body of up to this Node reads by itself to keep the connection. */
const UNREAD_BYTES_MAX = 65_536

/**
 * Discards what is left of the body of a request that has been answered. `socket` is that of the request,
 * which forgets it once it is destroyed.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse, socket: Socket): void {
  if (socket.destroyed || request.readableEnded) return
  const isBegun = request.readableFlowing !== null || request.listenerCount('data') > 0
  if (isBegun || hasLongBody(request)) discard(request, response, socket)
}

function discard(request: IncomingMessage, response: ServerResponse, socket: Socket): void {
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  const begin = (): void => void (timer = setTimeout(() => socket.destroy(), WITHIN_MS))
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BYTES_MAX) request.pause()
  })
  const done = (): void => {
    clearTimeout(timer)
    response.off('socket', begin)
    socket.off('close', done)
  }
  request.on('end', done)
  socket.once('close', done)
  if (response.socket === null && !response.writableFinished) response.once('socket', begin)
  else begin()
  request.resume()
}

function hasLongBody(request: IncomingMessage): boolean {
  if (request.headers['transfer-encoding'] !== undefined) return true
  return Number(request.headers['content-length'] ?? 0) > UNREAD_BYTES_MAX
}
