/**
 * The call that a person tries: which fields the console accepts, and the request to the gateway that they make.
 *
 * The console adds nothing that the person could not send: the path lies below the API, whatever it contains, and neither the framing,
 * the host, the credential nor the address of the client can be chosen. The gateway checks the rest like that of any call.
 */

import { Problem } from '../../foundation/domain/problem.ts'

export interface TryInput {
  readonly api: string
  readonly method: string
  readonly path: string
  readonly query: readonly (readonly [string, string])[]
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | null
}

export interface GatewayRequest {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer | null
}

export const TRY_BODY_BYTES_MAX = 256 * 1_024
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD'])
const API = '^[a-z0-9]+(?:-[a-z0-9]+)*-v[0-9]{1,6}$'

function pairs(itemsMax: number, nameMax: number, valueMax: number) {
  const pair = {
    type: 'array',
    minItems: 2,
    maxItems: 2,
    items: [
      { type: 'string', minLength: 1, maxLength: nameMax },
      { type: 'string', maxLength: valueMax },
    ],
  }
  return { type: 'array', maxItems: itemsMax, items: pair }
}

export const TRY_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['api', 'method', 'path', 'query', 'headers', 'body'],
  properties: {
    api: { type: 'string', maxLength: 128, pattern: API },
    method: { type: 'string', enum: [...METHODS] },
    path: { type: 'string', minLength: 1, maxLength: 4_096 },
    query: pairs(100, 256, 4_096),
    headers: pairs(30, 128, 4_096),
    body: { type: ['string', 'null'], maxLength: TRY_BODY_BYTES_MAX },
  },
}

const QUERY_LENGTH_MAX = 6_000
const HEADERS_LENGTH_MAX = 8_000
/** RFC 3986: characters of a segment, with escapes of anything but control characters, dots, slashes and backslashes. */
const PATH = /^(?:\/(?:[\w\-.~!$&'()*+,;=:@]|%(?!0|1|2[eEfF]|5[cC]|7[fF])[\dA-Fa-f]{2})*)+$/
const DOT_SEGMENT = /\/\.{1,2}(?:[/;]|$)|\/\//
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** Visible characters of ASCII with spaces and tabs between them: nothing that ends a line, and nothing that is decoded twice. */
const VALUE = /^(?:[!-~](?:[ \t!-~]*[!-~])?)?$/
const ALLOWED: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'api-version',
  'content-language',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
])
/** Who the caller is, where it comes from, and which operation it calls is not for a page to say. */
const REFUSED =
  /^x-(?:api-?key|forwarded|real-ip|original|rewrite|http-method|method-override|consumer|subscription|agent|on-behalf|client|cluster|envoy|amz|request-id|auth|user|remote|host|tollgate)/

/** Throws `Problem('payload_invalid')`. */
export function toGatewayRequest({ api, method, path, query, headers, body }: TryInput): GatewayRequest {
  if (!PATH.test(path) || DOT_SEGMENT.test(path))
    throw invalidAt('/path', 'must be a path of the API, with `%` escapes and without empty, `.` and `..` segments.')
  const search = query.map((pair) => pair.map(encode).join('=')).join('&')
  if (search.length > QUERY_LENGTH_MAX) throw invalidAt('/query', `must not exceed ${QUERY_LENGTH_MAX} characters.`)
  return {
    method,
    path: `/${api}${path}${search === '' ? '' : `?${search}`}`,
    headers: checkHeaders(headers),
    body: toBody(method, body),
  }
}

function checkHeaders(headers: TryInput['headers']): TryInput['headers'] {
  const seen = new Set<string>()
  let length = 0
  for (const [index, [name, value]] of headers.entries()) {
    const lower = name.toLowerCase()
    const isAllowed = NAME.test(name) && (ALLOWED.has(lower) || (isOwnName(lower) && !REFUSED.test(lower)))
    if (!isAllowed) throw invalidAt(`/headers/${index}/0`, 'is no header that the console sends.')
    if (!VALUE.test(value)) throw invalidAt(`/headers/${index}/1`, 'must consist of visible ASCII characters.')
    if (seen.has(lower)) throw invalidAt(`/headers/${index}/0`, 'must be given once.')
    seen.add(lower)
    length += name.length + value.length
  }
  if (length > HEADERS_LENGTH_MAX) throw invalidAt('/headers', `must not exceed ${HEADERS_LENGTH_MAX} characters.`)
  return headers
}

/** An underscore could become a dash on the way, and the name then another one. */
function isOwnName(lower: string): boolean {
  return lower.startsWith('x-') && !lower.includes('_')
}

function toBody(method: string, body: string | null): Buffer | null {
  if (body === null) return null
  if (WITHOUT_BODY.has(method)) throw invalidAt('/body', `must be null for ${method}.`)
  const bytes = Buffer.from(body)
  if (bytes.length > TRY_BODY_BYTES_MAX) throw invalidAt('/body', `must not exceed ${TRY_BODY_BYTES_MAX} bytes.`)
  return bytes
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function invalidAt(pointer: string, detail: string): Problem {
  return new Problem('payload_invalid', `${pointer} ${detail}`, { errors: [{ pointer, detail }] })
}
