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

export function isTooLong(headers: readonly string[]): boolean {
  return headers.length > HEADERS_MAX * 2
}
