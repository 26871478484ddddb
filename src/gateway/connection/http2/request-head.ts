/**
 * Reads the head of a request over HTTP/2 as the head of the same request over HTTP/1.1, so that the stages of a call need no
 * second set of rules (RFC 9113, 8.3.1).
 *
 * nghttp2 has refused upper case, headers of a connection, repeated and missing pseudo-headers, and lengths that differ from the
 * body. Node drops fields with other bytes that RFC 9113, 8.2.1, forbids, such as line breaks, without a trace. A fault is a head
 * that both accept, but that two implementations could read differently.
 */

import { METHODS } from '../../../runtime/node-http.ts'
import { CLIENT_BOUNDS } from '../client.ts'
import { sizeOfField } from './http2-bounds.ts'

/** The methods that the parser of HTTP/1.1 accepts, in front of the same stages. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== 'CONNECT'))

export interface ReadHead {
  readonly method: string
  readonly target: string
  /** Name, value, …. The length of a body without `Content-Length` is unknown, as that of a body in chunks. */
  readonly raw: string[]
  /** Status of the refusal; 0 if the head is unambiguous. */
  readonly fault: 0 | 400 | 431
}

/** `received` is name, value, …; `hasBody` whether the stream continues after the head. */
export function readHead(received: readonly string[], hasBody: boolean): ReadHead {
  const pseudo = new Map<string, string>()
  const raw: string[] = []
  let size = 0
  let cookie = ''
  let hasLength = false
  let isTrimmed = true
  for (let index = 0; index < received.length; index += 2) {
    const name = received[index]!
    const value = received[index + 1]!
    size += sizeOfField(name, value)
    if (isOuterSpace(value.charCodeAt(0)) || isOuterSpace(value.charCodeAt(value.length - 1))) isTrimmed = false
    if (name.startsWith(':')) pseudo.set(name, value)
    // A client may send each pair by itself (8.2.3).
    else if (name === 'cookie') cookie = cookie === '' ? value : `${cookie}; ${value}`
    else {
      if (name === 'content-length') hasLength = true
      raw.push(name, value)
    }
  }
  if (cookie !== '') raw.push('cookie', cookie)
  if (hasBody && !hasLength) raw.push('transfer-encoding', 'chunked')
  const method = pseudo.get(':method') ?? ''
  const target = pseudo.get(':path') ?? ''
  const isHostPlain = placeHost(raw, pseudo.get(':authority'))
  const isPlain =
    isTrimmed && isHostPlain && KNOWN_METHODS.has(method) && target !== '' && isKnownScheme(pseudo.get(':scheme'))
  const fault = size > CLIENT_BOUNDS.headBytesMax ? 431 : isPlain ? 0 : 400
  return { method, target, raw, fault }
}

/** NaN, behind the end of an empty value, is none. */
function isOuterSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function isKnownScheme(scheme: string | undefined): boolean {
  return scheme === 'https' || scheme === 'http'
}

/** Adds `:authority` as `host`. Returns false if the request names another host as well. */
function placeHost(raw: string[], authority: string | undefined): boolean {
  if (authority === undefined) return true
  let isHostMissing = true
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index] !== 'host') continue
    if (raw[index + 1] !== authority) return false
    isHostMissing = false
  }
  if (isHostMissing) raw.push('host', authority)
  return true
}
