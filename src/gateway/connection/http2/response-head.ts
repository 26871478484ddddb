/** The head of a response as the fields of HTTP/2. */

import { parseHeaderLines } from '../../../runtime/parse-header-lines.ts'
import type { ResponseFields } from '../response-fields.ts'

/** Headers of a connection, which make a message over HTTP/2 malformed (RFC 9113, 8.2.2). */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Returns name, value, …. `bytes` is the length of the body if the fields do not have it; -1 if it is unknown. */
export function toHeadFields(status: number, fields: ResponseFields, bytes: number): string[] {
  const head = [':status', String(status)]
  const headers = parseHeaderLines(fields.lines)
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (!CONNECTION_HEADERS.has(name)) head.push(name, headers[index + 1]!.trim())
  }
  if (bytes >= 0 && fields.length < 0) head.push('content-length', String(bytes))
  return head
}
