/** Converts the head of a backend's response into the head for the client. */

import type { IncomingHttpHeaders } from 'undici/types/header.js'
import { CONNECTION, CONTENT_LENGTH, DROP, TRANSFER_ENCODING, type HeaderRules } from './header-rules.ts'

export interface ResponseHead {
  /** Name, value, … */
  readonly headers: string[]
  /** `Content-Length` of the backend, or -1. */
  readonly length: number
  /** True if the end of the body is ambiguous: a transfer coding other than `chunked`, or a length with a leading zero. */
  readonly isUnreadable: boolean
}

const NO_CONTENT = 204

export function readResponseHead(status: number, headers: IncomingHttpHeaders, rules: HeaderRules): ResponseHead {
  const kept: string[] = []
  let length = -1
  let isUnreadable = false
  let hopByHop: ReadonlySet<string> | null = null
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    switch (rules.of(name)) {
      case DROP:
        continue
      case CONNECTION:
        hopByHop = namesIn(value)
        continue
      case TRANSFER_ENCODING:
        if (typeof value !== 'string' || value.toLowerCase() !== 'chunked') isUnreadable = true
        continue
      case CONTENT_LENGTH:
        // A 204 must not have a length (RFC 9110, 8.6).
        if (status === NO_CONTENT) continue
        length = Number(value)
        // The parser has accepted digits only. Some implementations read a leading zero as octal.
        if (value.length > 1 && value[0] === '0') isUnreadable = true
    }
    if (typeof value === 'string') kept.push(name, value)
    else for (const item of value) kept.push(name, item)
  }
  if (hopByHop !== null) dropNamed(kept, hopByHop)
  return { headers: kept, length, isUnreadable }
}

/** Returns the header names in `Connection`; null if there are none. */
function namesIn(connection: string | string[]): ReadonlySet<string> | null {
  if (connection === 'keep-alive' || connection === 'close') return null
  const list = typeof connection === 'string' ? connection : connection.join(',')
  return new Set(list.split(',').map((name) => name.trim().toLowerCase()))
}

/** Removes headers by name, except for the length, which frames the message. */
function dropNamed(headers: string[], names: ReadonlySet<string>): void {
  let length = 0
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (names.has(name) && name !== 'content-length') continue
    headers[length++] = headers[index]!
    headers[length++] = headers[index + 1]!
  }
  headers.length = length
}
