/** Converts the head of a backend's response into the head for the client. */

import { toHeaderLines } from '../connection/header-lines.ts'
import { inOnePiece } from '../../foundation/runtime/one-piece.ts'
import type { HeaderMemo } from '../connection/header-memo.ts'
import type { ResponseFields } from '../connection/response-fields.ts'
import {
  CONNECTION,
  CONTENT_ENCODING,
  CONTENT_LENGTH,
  CONTENT_TYPE,
  DATE,
  DROP,
  TRANSFER_ENCODING,
  type HeaderRules,
} from './header-rules.ts'

export interface ResponseHead extends ResponseFields {
  /** Headers for the client. */
  lines: string
  /** `Content-Length` of the backend, or -1. */
  length: number
  hasDate: boolean
  /** Undefined if there is none or more than one. */
  contentType: string | undefined
  contentEncoding: string | undefined
  /** True if the end of the body is ambiguous: a transfer coding other than `chunked`, or a length with a leading zero. */
  isUnreadable: boolean
}

const NO_CONTENT = 204

/** Returns the same object for responses of a connection with the same status and headers; it must not be changed. */
export function readResponseHead(status: number, headers: HeaderMemo, rules: HeaderRules): ResponseHead {
  return (headers.reading ??= readHead(status, headers.raw, rules)) as ResponseHead
}

function readHead(status: number, headers: readonly string[], rules: HeaderRules): ResponseHead {
  const kept: string[] = []
  const head: ResponseHead = {
    lines: '',
    length: -1,
    hasDate: false,
    isLast: false,
    contentType: undefined,
    contentEncoding: undefined,
    isUnreadable: false,
  }
  let isChunked = false
  let contentTypes = 0
  let hopByHop: string | null = null
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    const value = headers[index + 1]!
    switch (rules.of(name)) {
      case DROP:
        continue
      case CONNECTION:
        if (!isOrdinary(value)) hopByHop = joined(hopByHop, value)
        continue
      case TRANSFER_ENCODING:
        if (isChunked || value.toLowerCase() !== 'chunked') head.isUnreadable = true
        isChunked = true
        continue
      case CONTENT_LENGTH:
        // A 204 must not have a length (RFC 9110, 8.6).
        if (status === NO_CONTENT) continue
        head.length = Number(value)
        // The parser has accepted digits only. Some implementations read a leading zero as octal.
        if (value.length > 1 && value[0] === '0') head.isUnreadable = true
        break
      case CONTENT_TYPE:
        head.contentType = ++contentTypes === 1 ? value : undefined
        break
      case CONTENT_ENCODING:
        head.contentEncoding = joined(head.contentEncoding ?? null, value)
        break
      case DATE:
        head.hasDate = true
    }
    kept.push(name, value)
  }
  if (hopByHop !== null) dropNamed(kept, namesIn(hopByHop))
  head.lines = inOnePiece(toHeaderLines(kept))
  return head
}

function joined(list: string | null, value: string): string {
  return list === null ? value : `${list}, ${value}`
}

function isOrdinary(connection: string): boolean {
  return connection === 'keep-alive' || connection === 'close'
}

/** Returns the header names in the values of `Connection`. */
function namesIn(connection: string): ReadonlySet<string> {
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
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
