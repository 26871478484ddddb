/**
 * The headers of a request, read once: what the stations need, and what the backend is sent.
 *
 * One pass over the raw headers; the credential and what a client may not say stay behind. What comes
 * twice and must not (credential, content type) makes `isAmbiguous`: two readers could each take
 * another one.
 */

import type { IncomingMessage } from 'node:http'
import {
  API_KEY,
  AUTHORIZATION,
  CONNECTION,
  CONTENT_LENGTH,
  CONTENT_TYPE,
  DROP,
  HOST,
  TRANSFER_ENCODING,
  type HeaderRules,
} from './header-rules.ts'

export interface RequestHeaders {
  authorization: string | undefined
  apiKey: string | undefined
  contentType: string | undefined
  contentLength: number
  isChunked: boolean
  host: string
  isAmbiguous: boolean
  /** Name, value, … as they go to the backend; the gateway adds its own. */
  readonly forward: string[]
}

export function readRequestHeaders(request: IncomingMessage, rules: HeaderRules): RequestHeaders {
  const raw = request.rawHeaders
  const forward: string[] = []
  const headers: RequestHeaders = {
    authorization: undefined,
    apiKey: undefined,
    contentType: undefined,
    contentLength: 0,
    isChunked: false,
    host: '',
    isAmbiguous: false,
    forward,
  }
  let named: string | null = null

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
        break
      case TRANSFER_ENCODING:
        headers.isChunked = true
        break
      case CONNECTION:
        if (!isOrdinary(value)) named = named === null ? value : `${named},${value}`
        break
      case HOST:
        headers.host = value
        break
      default:
        forward.push(name, value)
    }
  }
  if (named !== null) dropNamed(forward, named)
  return headers
}

function isOrdinary(connection: string): boolean {
  return connection === 'keep-alive' || connection === 'close' || connection === 'Keep-Alive'
}

/** Headers that `Connection` names are for this hop alone (RFC 9110, 7.6.1). */
function dropNamed(forward: string[], connection: string): void {
  const names = new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
  let kept = 0
  for (let index = 0; index < forward.length; index += 2) {
    if (names.has(forward[index]!.toLowerCase())) continue
    forward[kept++] = forward[index]!
    forward[kept++] = forward[index + 1]!
  }
  forward.length = kept
}
