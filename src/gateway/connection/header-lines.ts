/**
 * Writes headers as the lines of a message, and checks them: a line break in one of them would become a header or a request that
 * was never sent. Characters above U+00FF are refused, since their low bytes would be sent instead.
 */

import { exchangeError, REQUEST_INVALID } from './exchange.ts'

const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const NOT_IN_TOKEN = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/

/** Bound for the spellings of names that need no check again. */
const NAMES_MAX = 2_048
const names = new Set<string>()

/** `headers` is name, value, …. Throws if one of them must not be sent. */
export function toHeaderLines(headers: readonly string[]): string {
  let lines = ''
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    const value = headers[index + 1]!
    if (!isToken(name) || NOT_IN_VALUE.test(value)) {
      throw exchangeError(REQUEST_INVALID, 'a header contains an invalid character')
    }
    lines += `${name}: ${value}\r\n`
  }
  return lines
}

export function isToken(name: string): boolean {
  if (names.has(name)) return true
  if (name === '' || NOT_IN_TOKEN.test(name)) return false
  if (names.size < NAMES_MAX) names.add(name)
  return true
}
