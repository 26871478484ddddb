/**
 * Reads the head of a request over HTTP/2 as the head of the same request over HTTP/1.1, so that the stages of a call need no
 * second set of rules (RFC 9113, 8.3.1).
 *
 * A malformed head is no request: its stream is reset. A fault is a head that the protocol allows, or almost, but that two
 * implementations could read differently; it is answered.
 */

import { METHODS } from '../../../foundation/runtime/node-http.ts'
import { CLIENT_BOUNDS } from '../client.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'
import { sizeOfField } from './hpack-static-table.ts'

/** The methods that the parser of HTTP/1.1 accepts, in front of the same stages. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== 'CONNECT'))
/** Headers of a connection (8.2.2). */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])
/** As over HTTP/1.1: a sign or a leading zero could be read differently. */
const LENGTH = /^(?:0|[1-9]\d{0,14})$/
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/

export interface ReadHead {
  readonly method: string
  readonly target: string
  /** Name, value, …. The length of a body without `Content-Length` is unknown, as that of a body in chunks. */
  readonly raw: string[]
  /** `Content-Length`; -1 without. */
  readonly bodyBytes: number
  readonly isMalformed: boolean
  /** Status of the refusal; 0 if the head is unambiguous. */
  readonly fault: 0 | 400 | 431
}

interface Pseudo {
  ':method': string | undefined
  ':scheme': string | undefined
  ':authority': string | undefined
  ':path': string | undefined
}

/** `received` is name, value, …, whose bytes were checked; `hasBody` whether the stream continues after the head. */
export function readHead(received: readonly string[], hasBody: boolean): ReadHead {
  const pseudo: Pseudo = { ':method': undefined, ':scheme': undefined, ':authority': undefined, ':path': undefined }
  const raw: string[] = []
  let size = 0
  let cookie: string | null = null
  let bodyBytes = -1
  let isMalformed = false
  let isTrimmed = true
  for (let index = 0; index < received.length; index += 2) {
    const name = received[index]!
    const value = received[index + 1]!
    size += sizeOfField(name, value)
    if (isOuterSpace(value.charCodeAt(0)) || isOuterSpace(value.charCodeAt(value.length - 1))) isTrimmed = false
    if (name.startsWith(':')) {
      if (!isPseudo(name) || pseudo[name] !== undefined || raw.length > 0 || cookie !== null) isMalformed = true
      else pseudo[name] = value
    }
    // A client may send each pair by itself (8.2.3).
    else if (name === 'cookie') cookie = cookie === null || cookie === '' ? value : `${cookie}; ${value}`
    else {
      if (name === 'content-length') {
        if (bodyBytes >= 0 || !LENGTH.test(value)) isMalformed = true
        bodyBytes = Number(value)
      } else if (isOfConnection(name, value)) isMalformed = true
      raw.push(name, value)
    }
  }
  const method = pseudo[':method'] ?? ''
  const target = pseudo[':path'] ?? ''
  if (!isComplete(pseudo) || (!hasBody && bodyBytes > 0)) isMalformed = true
  if (cookie !== null && cookie !== '') raw.push('cookie', cookie)
  if (hasBody && bodyBytes < 0) raw.push('transfer-encoding', 'chunked')
  const isHostPlain = placeHost(raw, pseudo[':authority'])
  const isPlain =
    isTrimmed && isHostPlain && KNOWN_METHODS.has(method) && target !== '' && isKnownScheme(pseudo[':scheme'])
  const isTooLarge = size > CLIENT_BOUNDS.headBytesMax || received.length > HTTP2_BOUNDS.headerPairsMax * 2
  return { method, target, raw, bodyBytes, isMalformed, fault: isTooLarge ? 431 : isPlain ? 0 : 400 }
}

/** Whether a second head of a stream ends its request without another meaning. */
export function areTrailers(received: readonly string[]): boolean {
  for (let index = 0; index < received.length; index += 2) if (received[index]!.startsWith(':')) return false
  return true
}

/** Extended CONNECT is not offered. */
function isPseudo(name: string): name is keyof Pseudo {
  return name === ':method' || name === ':scheme' || name === ':authority' || name === ':path'
}

function isOfConnection(name: string, value: string): boolean {
  return CONNECTION_HEADERS.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')
}

/** Whether the pseudo-headers are those of a request (8.3.1). CONNECT has no scheme and no path (8.5). */
function isComplete({ ':method': method, ':scheme': scheme, ':path': path }: Pseudo): boolean {
  if (method === 'CONNECT') return scheme === undefined && path === undefined
  if (method === undefined || scheme === undefined || path === undefined) return false
  return TARGET.test(path) || (path === '*' && method === 'OPTIONS')
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
