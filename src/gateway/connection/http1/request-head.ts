/**
 * Writes the head of a request to a backend from its parts.
 *
 * Every part is checked, although a parser has read most of them: a line break in one of them would become a request that nobody
 * has sent. Characters above U+00FF are refused, since their low bytes would be sent instead.
 */

import { exchangeError, REQUEST_INVALID, type ExchangeRequest } from '../exchange.ts'

const NOT_IN_TARGET = /[^\x21-\x7e\x80-\xff]/
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const NOT_IN_TOKEN = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/
/** Methods whose requests state the length of a missing body (RFC 9110, 8.6). */
const PAYLOAD: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** Spellings of names that have been checked. */
const NAMES_MAX = 2_048
const names = new Set<string>()

/** `hop` holds the lines of the connection: `Host` and `Connection`. */
export function writeHead({ method, path, headers, body, bodyBytes }: ExchangeRequest, hop: string): string {
  if (!isToken(method) || path === '' || NOT_IN_TARGET.test(path)) throw invalid('request line')
  let text = `${method} ${path} HTTP/1.1\r\n${hop}`
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    const value = headers[index + 1]!
    if (!isToken(name) || NOT_IN_VALUE.test(value)) throw invalid('header')
    text += `${name}: ${value}\r\n`
  }
  if (body === null) return PAYLOAD.has(method) ? `${text}Content-Length: 0\r\n\r\n` : `${text}\r\n`
  const bytes = Buffer.isBuffer(body) ? body.length : bodyBytes
  return bytes < 0 ? `${text}Transfer-Encoding: chunked\r\n\r\n` : `${text}Content-Length: ${bytes}\r\n\r\n`
}

function isToken(name: string): boolean {
  if (names.has(name)) return true
  if (name === '' || NOT_IN_TOKEN.test(name)) return false
  if (names.size < NAMES_MAX) names.add(name)
  return true
}

function invalid(part: string): Error {
  return exchangeError(REQUEST_INVALID, `the ${part} of a request to a backend contains an invalid character`)
}
