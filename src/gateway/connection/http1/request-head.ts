/** Writes the head of a request to a backend from its parts, each of which is checked. */

import { exchangeError, REQUEST_INVALID, type ExchangeRequest } from '../exchange.ts'
import { isToken } from '../header-lines.ts'

const NOT_IN_TARGET = /[^\x21-\x7e\x80-\xff]/
/** Methods whose requests state the length of a missing body (RFC 9110, 8.6). */
const PAYLOAD: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** `hop` holds the lines of the connection: `Host` and `Connection`. */
export function writeHead({ method, path, lines, body, bodyBytes }: ExchangeRequest, hop: string): string {
  if (!isToken(method) || path === '' || NOT_IN_TARGET.test(path)) {
    throw exchangeError(REQUEST_INVALID, 'the request line for a backend contains an invalid character')
  }
  const text = `${method} ${path} HTTP/1.1\r\n${hop}${lines}`
  if (body === null) return PAYLOAD.has(method) ? `${text}Content-Length: 0\r\n\r\n` : `${text}\r\n`
  const bytes = Buffer.isBuffer(body) ? body.length : bodyBytes
  return bytes < 0 ? `${text}Transfer-Encoding: chunked\r\n\r\n` : `${text}Content-Length: ${bytes}\r\n\r\n`
}
