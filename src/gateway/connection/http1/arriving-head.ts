import { connectRefused, headTooLong, type ParserError } from '../parser-errors.ts'

/** The head of a request whose headers arrive in several parts. */
export class ArrivingHead {
  target = ''
  headers: string[] = []

  add(headers: string[], target: string): void {
    this.target += target
    if (!isTooLong(this.headers)) for (const part of headers) this.headers.push(part)
  }
}

/** More headers than any client sends. The parser bounds the bytes only. */
const HEADERS_MAX = 1_000

/** Returns why a request is not served; null if it is. */
export function faultInHead(method: string, headers: readonly string[]): ParserError | null {
  if (isTooLong(headers)) return headTooLong('a request has too many headers')
  return method === 'CONNECT' ? connectRefused() : null
}

function isTooLong(headers: readonly string[]): boolean {
  return headers.length > HEADERS_MAX * 2
}
