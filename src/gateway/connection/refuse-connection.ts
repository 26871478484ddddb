/**
 * Answers what the HTTP parser refuses, without writing into a response that is under way.
 *
 * One refusal per connection: what arrives behind it is ignored. If a response is under way
 * the connection is destroyed; nothing can be added to it. Responses to earlier requests are sent first.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { CountEvent, EventReason } from '../../runtime/event-reasons.ts'

type Response = ServerResponse<IncomingMessage>

export interface ConnectionRefusals {
  /** For the server's `clientError`. */
  refuse(error: ParserError, socket: Socket): void
  /** For the server's `connect`: responses to earlier requests are sent first. */
  refuseConnect(request: IncomingMessage): void
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

type Status = keyof typeof STATUS_LINES

/** A client that does not read its refusal is disconnected after this. */
const UNREAD_MS = 5_000

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** An error of llhttp, which says more in `reason` than in its code. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string
}

export function createConnectionRefusals(count: CountEvent): ConnectionRefusals {
  const refused = new WeakSet<Socket>()

  /** Waits for responses to earlier requests; the refusal belongs behind them. */
  function end(socket: Socket, status: Status): void {
    if (!socket.writable) return void socket.destroy()
    const current = currentResponse(socket)
    if (current !== null && current.headersSent && !current.writableEnded) return void socket.destroy()
    if (current !== null && (current.req.complete || current.headersSent)) {
      return void current.once('close', () => end(socket, status))
    }
    socket.setTimeout(UNREAD_MS, () => socket.destroy())
    socket.end(`HTTP/1.1 ${STATUS_LINES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
      socket.destroy(),
    )
  }

  return {
    refuse(error, socket) {
      if (refused.has(socket)) return
      refused.add(socket)
      if (error.code?.startsWith('HPE_') !== true && error.code !== TIMED_OUT) return void socket.destroy()
      // A client that goes away within a message has sent nothing malformed: its call says so, if there is one.
      if (error.code !== 'HPE_INVALID_EOF_STATE') count(reasonOf(error))
      end(socket, statusOf(error))
    },
    refuseConnect({ socket, complete: isComplete }) {
      refused.add(socket)
      count('malformed')
      if (!isComplete) return void socket.destroy()
      attend(socket)
      end(socket, 400)
    },
    isRefused: (socket) => refused.has(socket),
    mark: (socket) => void refused.add(socket),
  }
}

function reasonOf({ code }: ParserError): EventReason {
  if (code === 'HPE_HEADER_OVERFLOW') return 'header_too_long'
  return code === TIMED_OUT ? 'request_too_slow' : 'malformed'
}

function statusOf({ code, reason = '' }: ParserError): Status {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 431
    case TIMED_OUT:
      return 408
    // A coding that we do not do; an empty one, or one beside a length, is malformed.
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return /^(Request has invalid|Invalid) `/.test(reason) ? 501 : 400
    case 'HPE_INVALID_VERSION':
      return reason === 'Invalid HTTP version' ? 505 : 400
    case 'HPE_PAUSED_H2_UPGRADE':
      return 505
    default:
      return 400
  }
}

/** Node has taken its listeners from the connection: those are missing that the responses under way need. */
function attend(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.destroy())
  socket.on('timeout', () => socket.destroy())
  socket.on('drain', () => currentResponse(socket)?.emit('drain'))
  socket.resume()
}

/** The response that Node is writing to a connection, if any; its `clientError` handler by default asks for the same. */
function currentResponse(socket: Socket): Response | null {
  return (socket as Socket & { readonly _httpMessage?: Response | null })._httpMessage ?? null
}
