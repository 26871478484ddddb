/**
 * The headers of a request, read once: whether its head can be trusted, what the stages need, and what
 * the backend is sent.
 *
 * One pass over the raw headers; the credential and what a client may not send stay behind. Two
 * credentials or content types make `isAmbiguous`: two readers could each take another one. What
 * concerns the framing or the host of the message is a `fault`, and ends the connection.
 */

import type { IncomingMessage } from 'node:http'
import { isPlainLength } from './framing.ts'
import {
  API_KEY,
  AUTHORIZATION,
  CDN_LOOP,
  CONNECTION,
  CONTENT_LENGTH,
  CONTENT_TYPE,
  DROP,
  HOST,
  OVERRIDE,
  TRANSFER_ENCODING,
  VIA,
  type RequestRules,
} from './header-rules.ts'

export interface RequestHeaders {
  authorization: string | undefined
  apiKey: string | undefined
  contentType: string | undefined
  contentLength: number
  isChunked: boolean
  host: string
  /** Proxies that the request has come through; `''` if none. */
  via: string
  cdnLoop: string
  isAmbiguous: boolean
  /** The status that a head which cannot be trusted is refused with; 0 if there is no fault. */
  fault: 0 | 400 | 501 | 505
  /** Names in `Connection` other than `close` and `keep-alive`; null if there are none. */
  hopByHop: string | null
  /** Name, value, … of `X-HTTP-Method-Override` and its like; null if there are none. */
  overrides: string[] | null
  /** Name, value, … as they go to the backend; the gateway adds its own. */
  readonly forward: string[]
}

export function readRequestHeaders(request: IncomingMessage, rules: RequestRules): RequestHeaders {
  const raw = request.rawHeaders
  const forward: string[] = []
  const headers: RequestHeaders = {
    authorization: undefined,
    apiKey: undefined,
    contentType: undefined,
    contentLength: 0,
    isChunked: false,
    host: '',
    via: '',
    cdnLoop: '',
    isAmbiguous: false,
    fault: request.httpVersionMajor === 1 ? 0 : 505,
    hopByHop: null,
    overrides: null,
    forward,
  }
  let hosts = 0
  let lengths = 0

  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const value = raw[index + 1]!
    switch (rules.of(name)) {
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
        if (headers.contentType !== undefined) headers.isAmbiguous = true
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
      case VIA:
        headers.via = joined(headers.via, value)
        break
      case CDN_LOOP:
        headers.cdnLoop = joined(headers.cdnLoop, value)
        break
      case OVERRIDE:
        ;(headers.overrides ??= []).push(name, value)
        break
      default:
        forward.push(name, value)
    }
  }
  if (hosts === 0 && request.httpVersionMinor !== 0) headers.fault ||= 400
  // HTTP/1.0 knows no transfer codings: a body framed by one could be read in two ways (RFC 9112, 6.1).
  if (headers.isChunked && request.httpVersionMinor === 0) headers.fault ||= 400
  return headers
}

function joined(list: string, value: string): string {
  return list === '' ? value : `${list}, ${value}`
}

function isOrdinary(connection: string): boolean {
  return connection === 'keep-alive' || connection === 'close' || connection === 'Keep-Alive'
}

/**
 * Removes the headers that `Connection` names: they are for one hop alone (RFC 9110, 7.6.1). `kept` are
 * names in lower case that a sender cannot remove, since the gateway has validated them.
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
