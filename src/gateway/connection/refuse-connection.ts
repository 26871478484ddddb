/**
 * Responds to requests that the HTTP parser rejects, without writing into a response that is being sent.
 *
 * A connection is refused once, and everything that arrives afterwards is ignored. Responses to earlier requests are sent first.
 * If a response is partly sent, nothing can be added to it, and the connection is destroyed.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { CountEvent, EventReason } from '../../runtime/event-reasons.ts'

type Response = ServerResponse<IncomingMessage>

export interface ConnectionRefusals {
  /** Handles `clientError` of the server. */
  refuse(error: ParserError, socket: Socket): void
  /** Handles `connect` of the server. */
  refuseConnect(request: IncomingMessage): void
  /** Whether the connection has been refused; later requests on it are not served. */
  isRefused(socket: Socket): boolean
  /** Marks a connection as refused after its final response has been sent by the caller. */
  markRefused(socket: Socket): void
}

const STATUS_LINES = {
  400: '400 Bad Request',
  408: '408 Request Timeout',
  431: '431 Request Header Fields Too Large',
  501: '501 Not Implemented',
  505: '505 HTTP Version Not Supported',
} as const

type Status = keyof typeof STATUS_LINES

/** Time limit for the client to read the refusal. */
const READ_WITHIN_MS = 5_000

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** An error of llhttp; `reason` distinguishes errors that share a code. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string
}

export function createConnectionRefusals(count: CountEvent): ConnectionRefusals {
  const refused = new WeakSet<Socket>()

  /** Sends the refusal and closes the connection, after the responses to earlier requests. */
  function end(socket: Socket, status: Status): void {
    if (!socket.writable) return void socket.destroy()
    const current = currentResponse(socket)
    if (current !== null && current.headersSent && !current.writableEnded) return void socket.destroy()
    if (current !== null && (current.req.complete || current.headersSent)) {
      return void current.once('close', () => end(socket, status))
    }
    socket.setTimeout(READ_WITHIN_MS, () => socket.destroy())
    socket.end(`HTTP/1.1 ${STATUS_LINES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
      socket.destroy(),
    )
  }

  return {
    refuse(error, socket) {
      if (refused.has(socket)) return
      refused.add(socket)
      if (error.code?.startsWith('HPE_') !== true && error.code !== TIMED_OUT) return void socket.destroy()
      // A client that disconnects within a message has sent nothing malformed; the record of its call shows the disconnect.
      if (error.code !== 'HPE_INVALID_EOF_STATE') count(reasonOf(error))
      end(socket, statusOf(error))
    },
    refuseConnect({ socket, complete: isComplete }) {
      refused.add(socket)
      count('malformed')
      if (!isComplete) return void socket.destroy()
      restoreListeners(socket)
      end(socket, 400)
    },
    isRefused: (socket) => refused.has(socket),
    markRefused: (socket) => void refused.add(socket),
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
    // 501 for an unsupported transfer coding; an empty one, or one next to a length, is malformed.
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

/** Restores the listeners that pending responses need; Node removes its own before `connect`. */
function restoreListeners(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.destroy())
  socket.on('timeout', () => socket.destroy())
  socket.on('drain', () => currentResponse(socket)?.emit('drain'))
  socket.resume()
}

/** Returns the response that Node is writing to a connection; Node's default `clientError` handler uses the same property. */
function currentResponse(socket: Socket): Response | null {
  return (socket as Socket & { readonly _httpMessage?: Response | null })._httpMessage ?? null
}
