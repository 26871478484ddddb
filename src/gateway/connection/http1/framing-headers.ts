/** The headers that frame a message. The parser has accepted them already. */

import type { HeaderMemo } from '../header-memo.ts'

const FRAMING = ['connection', 'proxy-connection', 'transfer-encoding', 'content-length', 'upgrade']
const PLAIN_LENGTH = /^[1-9]\d{0,14}$/

export function concernsFraming(headers: readonly string[]): boolean {
  return FRAMING.some((name) => hasHeader(headers, name))
}

export function hasHeader(headers: readonly string[], name: string): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]!.toLowerCase() === name) return true
  }
  return false
}

/** Returns the length of the body if it is certain from the headers; 0 if no header frames a body; -1 if only the parser knows. */
export function bodyBytesOf(memo: HeaderMemo): number {
  return (memo.bodyBytes ??= readBodyBytes(memo.raw))
}

/** Returns the length of the body of a response if its end can be found by counting; otherwise Infinity. */
export function countableBytes(memo: HeaderMemo, status: number): number {
  const bytes = status === 204 || status === 304 ? 0 : bodyBytesOf(memo)
  return bytes > 0 ? bytes : Infinity
}

function readBodyBytes(headers: readonly string[]): number {
  let length = 0
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (name === 'transfer-encoding') return -1
    if (name !== 'content-length') continue
    const value = headers[index + 1]!
    if (length > 0 || !PLAIN_LENGTH.test(value)) return -1
    length = Number(value)
  }
  return length
}
