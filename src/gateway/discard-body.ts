/**
 * What becomes of a body that nobody will read, once its call has been refused.
 *
 * A connection that is closed with bytes unread is reset, and a reset can take the answer with it before
 * the client has seen it. So the rest is read and thrown away for a moment; whoever has not ended by
 * then, or sends on and on, is closed. A short rest leaves the connection usable.
 */

import type { IncomingMessage } from 'node:http'

const BYTES_MAX = 1024 * 1024
const WITHIN_MS = 1_000

export function discardBody(request: IncomingMessage): void {
  const { socket } = request
  let bytes = 0
  const timer = setTimeout(() => socket.destroy(), WITHIN_MS)
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BYTES_MAX) request.pause()
  })
  const done = (): void => {
    clearTimeout(timer)
    socket.off('close', done)
  }
  request.on('end', done)
  socket.once('close', done)
  request.resume()
}
