/**
 * Discards the rest of a request body after the response.
 *
 * If a connection is closed with unread bytes, the kernel resets it, and the client may lose the response. The rest of the body
 * is therefore read and discarded for a limited time. A client that sends for longer, or more than the limit, is disconnected.
 * Only if it is certain that little is left does the response offer the connection for the next request (RFC 9112, 9.6). The
 * time limit starts when the response is no longer queued behind others on its connection.
 */

import type { Socket } from 'node:net'
import type { ClientRequest, ClientResponse } from './client.ts'

const BYTES_MAX = 16 * 1024 * 1024
const WITHIN_MS = 1_000
/** A body of this length is read before the time limit, unless its client is so slow that it cannot have sent another request. */
const REUSE_BYTES_MAX = 1024 * 1024

/** Node itself reads and discards unread bodies up to about this size. */
const UNREAD_BYTES_MAX = 65_536

/** Whether the client may send another request on the connection after a response that comes now. */
export function mayReuseAfter(request: ClientRequest): boolean {
  if (request.isHttp2 === true || request.complete) return true
  const { headers } = request
  return headers['transfer-encoding'] === undefined && lengthOf(headers) <= REUSE_BYTES_MAX
}

/** Discards the rest of the request body. `socket` is a parameter because a destroyed request has no reference to it. */
export function discardRest(request: ClientRequest, response: ClientResponse, socket: Socket): void {
  // The stream of HTTP/2 ends with the response.
  if (request.isHttp2 === true || socket.destroyed || request.complete) return
  const isStarted = request.readableFlowing !== null || request.listenerCount('data') > 0
  if (isStarted || hasLongBody(request)) discard(request, response, socket)
}

function discard(request: ClientRequest, response: ClientResponse, socket: Socket): void {
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  const startTimer = (): void => void (timer = setTimeout(() => socket.destroy(), WITHIN_MS))
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BYTES_MAX) request.pause()
  })
  const done = (): void => {
    clearTimeout(timer)
    response.off('socket', startTimer)
    socket.off('close', done)
  }
  request.on('end', done)
  socket.once('close', done)
  if (response.socket === null && !response.writableFinished) response.once('socket', startTimer)
  else startTimer()
  request.resume()
}

function hasLongBody({ headers }: ClientRequest): boolean {
  return headers['transfer-encoding'] !== undefined || lengthOf(headers) > UNREAD_BYTES_MAX
}

function lengthOf(headers: ClientRequest['headers']): number {
  return Number(headers['content-length'] ?? 0)
}
