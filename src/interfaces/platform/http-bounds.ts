/** Size and time limits of connections to the platform, and the answer to malformed requests. */

import type { Socket } from 'node:net'
import { problemDocument } from '../../foundation/domain/problem.ts'

/** Options of fastify. */
export const HTTP_BOUNDS = {
  bodyLimit: 1024 * 1024,
  /** Time within which the whole request must arrive. */
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  routerOptions: { maxParamLength: 256 },
  http: { maxHeaderSize: 16_384, headersTimeout: 20_000 },
} as const

const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Answers a request that could not be parsed, and closes its connection. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const line = STATUS_LINES[error.code ?? ''] ?? '400 Bad Request'
  const status = Number(line.slice(0, 3))
  const detail = 'The request is not valid HTTP.'
  const body = JSON.stringify({ ...problemDocument('payload_invalid', detail, requestId), status })
  const head = [
    `HTTP/1.1 ${line}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
