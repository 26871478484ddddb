/** Writes the head of a response to a client from its parts, each of which is checked. */

import { STATUS_CODES } from 'node:http'
import { toHeaderLines } from '../header-lines.ts'

export interface ResponseLines {
  /** The lines of the headers. */
  readonly text: string
  /** `Content-Length`, or -1. */
  readonly length: number
  readonly hasDate: boolean
  readonly isLast: boolean
}

const CONTENT_LENGTH = 'content-length'
const CONNECTION = 'connection'
const DATE = 'date'

const statusLines = new Map<number, string>()

export function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    if (!Number.isInteger(status) || status < 200 || status > 999) throw new RangeError(`${status} is no status`)
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    statusLines.set(status, line)
  }
  return line
}

/** `headers` is name, value, … without `Transfer-Encoding`. Throws if one of them must not be sent. */
export function toResponseLines(headers: readonly string[]): ResponseLines {
  const text = toHeaderLines(headers)
  let length = -1
  let hasDate = false
  let isLast = false
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    // Most names have another length, which costs less to compare.
    if (name.length === CONTENT_LENGTH.length && name.toLowerCase() === CONTENT_LENGTH) {
      length = Number(headers[index + 1])
    } else if (name.length === DATE.length && name.toLowerCase() === DATE) hasDate = true
    else if (name.length === CONNECTION.length && name.toLowerCase() === CONNECTION) {
      isLast ||= headers[index + 1]!.toLowerCase() === 'close'
    }
  }
  return { text, length, hasDate, isLast }
}

let dateLine = ''
let dateLineUntilMs = 0

/** Returns the line of the current date. */
export function currentDateLine(nowMs = Date.now()): string {
  if (nowMs >= dateLineUntilMs || nowMs < dateLineUntilMs - 1_000) {
    dateLineUntilMs = nowMs - (nowMs % 1_000) + 1_000
    dateLine = `Date: ${new Date(nowMs).toUTCString()}\r\n`
  }
  return dateLine
}
