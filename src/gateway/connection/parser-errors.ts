/** The response to a message that the HTTP parser rejects, and how the rejection is counted. */

import type { EventReason } from '../../foundation/runtime/event-reasons.ts'

/** An error of llhttp. */
export interface ParserError extends NodeJS.ErrnoException {
  /** Distinguishes errors that share a code. */
  readonly reason?: string
}

const STATUS_LINES = {
  400: '400 Bad Request',
  408: '408 Request Timeout',
  431: '431 Request Header Fields Too Large',
  501: '501 Not Implemented',
  505: '505 HTTP Version Not Supported',
} as const

export type RefusalStatus = keyof typeof STATUS_LINES

/** `code` of the error if a request took too long to arrive. */
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** `code` of the error if the client closed the connection within a message: nothing that it sent is malformed. */
const CUT_OFF = 'HPE_INVALID_EOF_STATE'
const HEAD_TOO_LONG = 'HPE_HEADER_OVERFLOW'

/** How a message that cannot be read is answered and counted. */
export interface Refusal {
  readonly status: RefusalStatus
  /** Null: not counted. */
  readonly reason: EventReason | null
}

/** Returns null if the error concerns no message: the connection has failed. */
export function refusalOf(error: ParserError): Refusal | null {
  const { code } = error
  if (code?.startsWith('HPE_') !== true && code !== TIMED_OUT) return null
  return { status: statusOf(error), reason: code === CUT_OFF ? null : reasonOf(error) }
}

export function headTooLong(message: string): ParserError {
  return Object.assign(new Error(message), { code: HEAD_TOO_LONG })
}

export function timedOut(): ParserError {
  return Object.assign(new Error('a request took too long to arrive'), { code: TIMED_OUT })
}

export function connectRefused(): ParserError {
  return Object.assign(new Error('the gateway opens no tunnels'), { code: 'HPE_INVALID_METHOD' })
}

function reasonOf({ code }: ParserError): EventReason {
  if (code === HEAD_TOO_LONG) return 'header_too_long'
  return code === TIMED_OUT ? 'request_too_slow' : 'malformed'
}

function statusOf({ code, reason = '' }: ParserError): RefusalStatus {
  switch (code) {
    case HEAD_TOO_LONG:
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

/** Returns a whole response that ends its connection. */
export function refusalText(status: RefusalStatus): string {
  return `HTTP/1.1 ${STATUS_LINES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
}
