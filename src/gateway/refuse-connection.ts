/**
 * Answers what the HTTP parser refuses, without writing into a response that is under way.
 *
 * One refusal per connection: what arrives behind it is ignored. If a response is under way
 * the connection is destroyed; nothing can be added to it. Responses to earlier requests are sent first.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Response = ServerResponse<IncomingMessage>

export interface ConnectionRefusals {
  /** For the server's `clientError`. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void
  /** Whether the connection has been refused: later requests on it are not served. */
  isRefused(socket: Socket): boolean
  /** Marks a connection whose last response says why it ends. */
  mark(socket: Socket): void
}

const STATUS_LINES = {
  400: '400 Bad Request',
  408: '408 Request Timeout',
  431: '431 Request Header Fields Too Large',
  501: '501 Not Implemented',
  505: '505 HTTP Version Not Supported',
} as const

const REFUSALS: Readonly<Record<string, { readonly reason: string; readonly status: keyof typeof STATUS_LINES }>> = {
  HPE_HEADER_OVERFLOW: { reason: 'header_too_long', status: 431 },
  ERR_HTTP_REQUEST_TIMEOUT: { reason: 'request_too_slow', status: 408 },
  HPE_INVALID_TRANSFER_ENCODING: { reason: 'malformed', status: 501 },
  HPE_INVALID_VERSION: { reason: 'malformed', status: 505 },
  HPE_PAUSED_H2_UPGRADE: { reason: 'malformed', status: 505 },
}
const MALFORMED = { reason: 'malformed', status: 400 } as const

export function createConnectionRefusals(count: (reason: string) => void): ConnectionRefusals {
  const refused = new WeakSet<Socket>()

  /** Waits for responses to earlier requests; the refusal belongs behind them. */
  function end(socket: Socket, status: keyof typeof STATUS_LINES): void {
    if (!socket.writable) return void socket.destroy()
    const current = currentResponse(socket)
    if (current !== null && current.headersSent && !current.writableEnded) return void socket.destroy()
    if (current !== null && (current.req.complete || current.headersSent)) {
      return void current.once('close', () => end(socket, status))
    }
    socket.end(`HTTP/1.1 ${STATUS_LINES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
      socket.destroy(),
    )
  }

  return {
    refuse(error, socket) {
      if (refused.has(socket)) return
      refused.add(socket)
      const { reason, status } = REFUSALS[error.code ?? ''] ?? MALFORMED
      count(reason)
      if (error.code === 'ECONNRESET') return void socket.destroy()
      end(socket, status)
    },
    isRefused: (socket) => refused.has(socket),
    mark: (socket) => void refused.add(socket),
  }
}

/** The response that Node is writing to a connection, if any; its `clientError` handler by default asks for the same. */
function currentResponse(socket: Socket): Response | null {
  return (socket as Socket & { readonly _httpMessage?: Response | null })._httpMessage ?? null
}
