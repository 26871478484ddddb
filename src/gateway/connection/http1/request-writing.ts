/** Writes the parts of a request to its connection. */

import type { Socket } from 'node:net'
import { exchangeError, REQUEST_INVALID, type BodySink, type BodySource } from '../exchange.ts'

/** Up to this size, a copy of the body into the text of the head costs less than a second buffer to write. */
const JOINED_BYTES_MAX = 4_096

export function writeRequest(socket: Socket, head: string, body: Buffer | null): void {
  if (body === null) socket.write(head, 'latin1')
  else if (body.length <= JOINED_BYTES_MAX) socket.write(head + body.toString('latin1'), 'latin1')
  else {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body)
    socket.uncork()
  }
}

/** Returns false if the source must wait until the socket is drained. */
export function writeChunk(socket: Socket, chunk: Buffer): boolean {
  socket.cork()
  socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
  socket.write(chunk)
  const mayContinue = socket.write('\r\n', 'latin1')
  socket.uncork()
  return mayContinue
}

/** Starts a body that arrives in pieces. `onError` is not called before `send` has returned. */
export function startBody(body: BodySource, sink: BodySink, onError: (error: NodeJS.ErrnoException) => void): void {
  try {
    body.start(sink)
  } catch (cause) {
    queueMicrotask(() => onError(exchangeError(REQUEST_INVALID, `the body cannot be read: ${String(cause)}`)))
  }
}
