/** The headers that frame a message. The parser has accepted them already. */

const FRAMING = ['connection', 'transfer-encoding', 'content-length', 'upgrade']
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

/** Returns the length of the body if it is certain from the headers; otherwise 0. */
export function contentLengthOf(headers: readonly string[]): number {
  let length = 0
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (name === 'transfer-encoding') return 0
    if (name !== 'content-length') continue
    const value = headers[index + 1]!
    if (length > 0 || !PLAIN_LENGTH.test(value)) return 0
    length = Number(value)
  }
  return length
}
