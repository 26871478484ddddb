/** Why a response is not passed on. */

import { CLOSED_BEFORE_RESPONSE, exchangeError, RESPONSE_INVALID } from '../exchange.ts'
import type { ParserError } from '../parser-errors.ts'
import { hasHeader } from './framing-headers.ts'
import type { StatusLine } from './message-parser.ts'

const SWITCHING_PROTOCOLS = 101

/** Returns why a head must not be passed on, or null. */
export function faultIn(
  { major, minor, status, isUpgrade }: StatusLine,
  headers: readonly string[],
  maySwitch: boolean,
): string | null {
  if (major !== 1) return `the response has version ${major}.${minor} of HTTP`
  if (status < 100) return `the response has the status ${status}`
  // The parser would read the body of some of them, and pass it on before the final head.
  if (status < 200 && (hasHeader(headers, 'content-length') || hasHeader(headers, 'transfer-encoding'))) {
    return 'an interim response has a body'
  }
  if (isUpgrade && status === SWITCHING_PROTOCOLS && maySwitch) return null
  // Other responses may name protocols that the backend would accept (426).
  if ((isUpgrade && !maySwitch) || status === SWITCHING_PROTOCOLS)
    return 'the backend has switched protocols without a request to do so'
  // HTTP/1.0 has no transfer codings, so the end of such a body is ambiguous (RFC 9112, 6.1).
  if (minor === 0 && hasHeader(headers, 'transfer-encoding')) return 'the response has a transfer coding in HTTP/1.0'
  return null
}

/**
 * Whether an error behind a head is one of a trailer. A length there means nothing (RFC 9110, 6.5.1), but the parser rejects it. The body
 * before it is complete, since a length next to a transfer coding has an error of its own in the head.
 */
export function isInTrailer({ code }: ParserError): boolean {
  return code === 'HPE_INVALID_CONTENT_LENGTH'
}

export function closedBefore(): NodeJS.ErrnoException {
  return exchangeError(CLOSED_BEFORE_RESPONSE, 'the backend has closed the connection before its response')
}

export function closedWithin(detail = 'closed'): NodeJS.ErrnoException {
  return exchangeError(RESPONSE_INVALID, `the connection has ended within the response: ${detail}`)
}
