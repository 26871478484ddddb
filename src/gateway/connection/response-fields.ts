/** The headers of a response as text, so that what many responses have in common is written once. */

import { toHeaderLines } from './header-lines.ts'

export interface ResponseFields {
  /** Lines that `toHeaderLines` has written, without `Connection` and `Transfer-Encoding`. */
  readonly lines: string
  /** `Content-Length` in the lines; -1 if they have none. */
  readonly length: number
  /** Whether the lines have a `Date`. */
  readonly hasDate: boolean
  /** Whether the connection ends with this response. */
  readonly isLast: boolean
}

const CONTENT_LENGTH = 'content-length'
const DATE = 'date'

/** `headers` is name, value, …. Throws if one of them must not be sent. */
export function toResponseFields(headers: readonly string[], isLast = false): ResponseFields {
  let length = -1
  let hasDate = false
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (name === CONTENT_LENGTH) length = Number(headers[index + 1])
    else if (name === DATE) hasDate = true
  }
  return { lines: toHeaderLines(headers), length, hasDate, isLast }
}
