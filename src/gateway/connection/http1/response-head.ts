/** The lines of a response that are the same for many responses. */

import { STATUS_CODES } from '../../../foundation/runtime/node-http.ts'
import { inOnePiece } from '../../../foundation/runtime/one-piece.ts'

const statusLines = new Map<number, string>()

export function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    if (!Number.isInteger(status) || (status < 200 && status !== 101) || status > 999)
      throw new RangeError(`${status} is no status`)
    line = inOnePiece(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`)
    statusLines.set(status, line)
  }
  return line
}

let dateLine = ''
let dateLineUntilMs = 0

/** Returns the line of the current date. */
export function currentDateLine(nowMs = Date.now()): string {
  if (nowMs >= dateLineUntilMs || nowMs < dateLineUntilMs - 1_000) {
    dateLineUntilMs = nowMs - (nowMs % 1_000) + 1_000
    dateLine = inOnePiece(`Date: ${new Date(nowMs).toUTCString()}\r\n`)
  }
  return dateLine
}
