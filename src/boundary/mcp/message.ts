/** Messages of JSON-RPC 2.0: reads that of a client, and writes responses. */

import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { parseExactly } from '../../foundation/json/exact-numbers.ts'
import { parseJsonBody } from '../../foundation/json/parse-json-body.ts'

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
/** The service refused the message; the reason is in the text. */
export const REFUSED = -32_000
export const HEADER_MISMATCH = -32_020
export const UNSUPPORTED_VERSION = -32_022

export type MessageId = string | number

export interface Message {
  /** Null for a notification. */
  readonly id: MessageId | null
  readonly method: string
  readonly params: Fields
}

/** Why a message cannot be processed. */
export interface MessageFault {
  readonly status: number
  readonly id: MessageId | null
  readonly code: number
  readonly text: string
  readonly data?: object
}

const ID_LENGTH_MAX = 256
const METHOD_LENGTH_MAX = 128

export function readMessage(bytes: Buffer): Message | MessageFault {
  const parsed = parseJsonBody(bytes, parseExactly)
  if ('fault' in parsed) return { status: 400, id: null, code: PARSE_ERROR, text: parsed.fault }
  const { value } = parsed
  if (Array.isArray(value)) return invalid(null, 'Batches are not supported; send one message per request.')
  const { jsonrpc, id, method, params } = fieldsOf(value)
  if (id !== undefined && !isId(id)) {
    return invalid(null, `The id must be an integer, or a string of at most ${ID_LENGTH_MAX} characters.`)
  }
  const known = id ?? null
  if (jsonrpc !== '2.0') return invalid(known, 'The message must have `jsonrpc` with the value "2.0".')
  if (typeof method !== 'string' || method.length > METHOD_LENGTH_MAX) {
    return invalid(known, 'The message must be a request or a notification, with a `method`.')
  }
  if (params !== undefined && fieldsOf(params) !== params) return invalid(known, '`params` must be an object.')
  return { id: known, method, params: fieldsOf(params) }
}

function invalid(id: MessageId | null, text: string): MessageFault {
  return { status: 400, id, code: INVALID_REQUEST, text }
}

function isId(id: unknown): id is MessageId {
  return typeof id === 'string' ? id.length <= ID_LENGTH_MAX : Number.isSafeInteger(id)
}

/** `result` is JSON. */
export function writeResult(id: MessageId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

export function writeError({ id, code, text, data }: MessageFault): string {
  const error = { code, message: text, ...(data !== undefined && { data }) }
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}
