/** The headers of a request by name, as `node:http` returns them. */

import type { IncomingHttpHeaders } from 'node:http'

/** Names of which the first value counts. */
const FIRST_ONLY: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
])

/** Joins the values of a name that is repeated. `raw` is name, value, …. */
export function toHeaders(raw: readonly string[]): IncomingHttpHeaders {
  const headers = Object.create(null) as Record<string, string | string[]>
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!.toLowerCase()
    const value = raw[index + 1]!
    const known = headers[name]
    if (name === 'set-cookie') headers[name] = Array.isArray(known) ? [...known, value] : [value]
    else if (known === undefined) headers[name] = value
    else if (!FIRST_ONLY.has(name)) headers[name] = `${String(known)}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return headers
}
