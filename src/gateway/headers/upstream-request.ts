/**
 * Reads the headers of a request in one pass: the fields that the stages need, the headers for the backend, and whether the head
 * is unambiguous.
 *
 * Credentials and reserved headers are not forwarded. Two credentials (`isAmbiguous`) and two content types are refused, since two
 * implementations could each use a different one. Ambiguous framing or hosts are a `fault`, which ends the connection.
 */

import type { ClientRequest } from '../connection/client.ts'
import { isPlainLength } from '../../foundation/domain/framing.ts'
import {
  API_KEY,
  AUTHORIZATION,
  CDN_LOOP,
  CONNECTION,
  CONTENT_LENGTH,
  CONTENT_TYPE,
  COOKIE,
  DROP,
  EXPECT,
  HOST,
  ORIGIN,
  OVERRIDE,
  PASS,
  REQUEST_METHOD,
  TRACE_PARENT,
  TRACE_STATE,
  TRANSFER_ENCODING,
  VIA,
  type RequestRules,
} from './header-rules.ts'
import { withoutOwnCookies } from './own-cookies.ts'

/** Stands for a header that was sent several times, of which none is valid. */
const REPEATED = 'repeated'
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i

export interface RequestHeaders {
  authorization: string | undefined
  apiKey: string | undefined
  contentType: string | undefined
  contentLength: number
  isChunked: boolean
  host: string
  /** Whether the client waits for `100 Continue`. Other expectations are ignored (RFC 9110, 10.1.1). */
  expectsContinue: boolean
  /** Proxies that the request has passed through; `''` if there are none. */
  via: string
  cdnLoop: string
  /** `Origin`; undefined if there is none, `''` if there are several. */
  origin: string | undefined
  /** Whether there is `Access-Control-Request-Method`. */
  asksForMethod: boolean
  /** `traceparent`; `''` if there is none, no valid value if there are several. */
  traceParent: string
  /** `tracestate`, as one list; `''` if there is none. */
  traceState: string
  /** Whether a credential is sent twice. */
  isAmbiguous: boolean
  repeatsContentType: boolean
  /** Status of the refusal if the framing or the host is ambiguous; 0 otherwise. */
  fault: 0 | 400 | 501 | 505
  /** Names in `Connection` other than `close` and `keep-alive`; null if there are none. */
  hopByHop: string | null
  /** Name, value, … of `X-HTTP-Method-Override` and similar headers; null if there are none. */
  overrides: string[] | null
  /** Name, value, … for the backend; forwarding adds the headers of the gateway. */
  readonly forward: readonly string[]
  /** `forward` as lines; null until they are needed. */
  forwardLines: string | null
}

/** Returns the same object for requests of a connection with the same headers; it must not be changed, except for `forwardLines`. */
export function readRequestHeaders(request: ClientRequest, rules: RequestRules): RequestHeaders {
  const { headerMemo } = request
  if (headerMemo === undefined) return readHeaders(request, rules)
  return (headerMemo.reading ??= readHeaders(request, rules)) as RequestHeaders
}

function readHeaders(request: ClientRequest, rules: RequestRules): RequestHeaders {
  const raw = request.rawHeaders
  const forward: string[] = []
  const headers = initialHeaders(request, forward)
  let hosts = 0
  let lengths = 0

  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const value = raw[index + 1]!
    const rule = rules.of(name)
    switch (rule) {
      case DROP:
        break
      case AUTHORIZATION:
        if (headers.authorization !== undefined) headers.isAmbiguous = true
        headers.authorization = value
        break
      case API_KEY:
        if (headers.apiKey !== undefined) headers.isAmbiguous = true
        headers.apiKey = value
        break
      case CONTENT_TYPE:
        if (headers.contentType !== undefined) headers.repeatsContentType = true
        headers.contentType = value
        forward.push(name, value)
        break
      case CONTENT_LENGTH:
        headers.contentLength = Number(value)
        if (++lengths > 1 || !isPlainLength(value)) headers.fault ||= 400
        break
      case TRANSFER_ENCODING:
        if (headers.isChunked || value.toLowerCase() !== 'chunked') headers.fault ||= 501
        headers.isChunked = true
        break
      case CONNECTION:
        if (!isOrdinary(value)) headers.hopByHop = joined(headers.hopByHop ?? '', value)
        break
      case HOST:
        headers.host = value
        if (++hosts > 1 || !rules.isValidHost(value)) headers.fault ||= 400
        break
      case EXPECT:
        if (CONTINUE.test(value)) headers.expectsContinue = true
        break
      case PASS:
        forward.push(name, value)
        break
      default:
        readRare(headers, forward, rule, name, value)
    }
  }
  return applyVersion(headers, hosts, request.isHttp2 === true ? 1 : request.httpVersionMinor)
}

/** Reads headers that most requests do not have. */
function readRare(headers: RequestHeaders, forward: string[], rule: number, name: string, value: string): void {
  switch (rule) {
    case VIA:
      headers.via = joined(headers.via, value)
      break
    case CDN_LOOP:
      headers.cdnLoop = joined(headers.cdnLoop, value)
      break
    case OVERRIDE:
      ;(headers.overrides ??= []).push(name, value)
      break
    case COOKIE: {
      const others = withoutOwnCookies(value)
      if (others !== '') forward.push(name, others)
      break
    }
    case ORIGIN:
      headers.origin = headers.origin === undefined ? value : ''
      forward.push(name, value)
      break
    case REQUEST_METHOD:
      headers.asksForMethod = true
      forward.push(name, value)
      break
    case TRACE_PARENT:
      headers.traceParent = headers.traceParent === '' ? value : REPEATED
      break
    case TRACE_STATE:
      headers.traceState = joined(headers.traceState, value)
      break
    default:
      forward.push(name, value)
  }
}

/** Applies what differs between versions of HTTP; `minor` is 0 for HTTP/1.0 only. */
function applyVersion(headers: RequestHeaders, hosts: number, minor: number): RequestHeaders {
  if (minor !== 0) {
    if (hosts === 0) headers.fault ||= 400
    return headers
  }
  // HTTP/1.0 has no transfer codings, so the framing of such a body is ambiguous (RFC 9112, 6.1).
  if (headers.isChunked) headers.fault ||= 400
  // It has no interim responses either.
  headers.expectsContinue = false
  return headers
}

function initialHeaders(request: ClientRequest, forward: string[]): RequestHeaders {
  return {
    authorization: undefined,
    apiKey: undefined,
    contentType: undefined,
    contentLength: 0,
    isChunked: false,
    host: '',
    expectsContinue: false,
    via: '',
    cdnLoop: '',
    origin: undefined,
    asksForMethod: false,
    traceParent: '',
    traceState: '',
    isAmbiguous: false,
    repeatsContentType: false,
    fault: request.httpVersionMajor === 1 || request.isHttp2 === true ? 0 : 505,
    hopByHop: null,
    overrides: null,
    forward,
    forwardLines: null,
  }
}

function joined(list: string, value: string): string {
  return list === '' ? value : `${list}, ${value}`
}

function isOrdinary(connection: string): boolean {
  return connection === 'keep-alive' || connection === 'close' || connection === 'Keep-Alive'
}

/**
 * Removes the headers that `Connection` names, because they apply to one hop only (RFC 9110, 7.6.1). `kept` contains lower-case
 * names that the gateway has validated and that a client therefore cannot remove.
 */
export function dropHopByHop(headers: string[], connection: string, kept: ReadonlySet<string>): void {
  const names = new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
  let length = 0
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (names.has(name) && !kept.has(name) && !name.startsWith('content-')) continue
    headers[length++] = headers[index]!
    headers[length++] = headers[index + 1]!
  }
  headers.length = length
}
