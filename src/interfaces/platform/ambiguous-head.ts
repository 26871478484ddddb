/**
 * Refuses requests whose head two implementations could read differently, as the gateway does: two hosts, credentials or content
 * types, transfer codings other than chunked, and `Content-Length: 010`.
 *
 * Node uses the first of two headers, and a proxy in front of the platform may use the last one. The connection is closed and
 * everything that follows on it is ignored, because the next request may begin elsewhere.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createHostCheck, isPlainLength } from '../../foundation/domain/framing.ts'
import { Problem } from '../../foundation/domain/problem.ts'

/** Headers that a request has at most once. */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'x-api-key',
  'content-type',
  'content-encoding',
  'content-length',
  'transfer-encoding',
])

/** Must be installed before other hooks, so that it sees a request before Node reads the next one of the connection. */
export function refuseAmbiguousHeads(app: FastifyInstance): void {
  const isValidHost = createHostCheck()
  const refused = new WeakSet<Socket>()
  app.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw
    if (refused.has(socket)) return reply.hijack()
    const fault = findFault(request.raw, isValidHost)
    if (fault === null) return
    refused.add(socket)
    void reply.header('X-Request-Id', request.id).header('Connection', 'close')
    throw new Problem('payload_invalid', fault)
  })
}

function findFault(
  { rawHeaders, httpVersion, headers }: IncomingMessage,
  isValidHost: (host: string) => boolean,
): string | null {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) return `The request repeats the header ${name}; send it at most once.`
    seen.add(name)
  }
  const { host, 'content-length': length, 'transfer-encoding': coding } = headers
  if (host === undefined ? httpVersion !== '1.0' : !isValidHost(host)) return 'The header Host must name one host.'
  if (length !== undefined && !isPlainLength(length)) return 'Content-Length must be a number without leading zeros.'
  // HTTP/1.0 has no transfer codings, so the framing of such a body is ambiguous (RFC 9112, 6.1).
  const isFramed = coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0')
  return isFramed ? null : 'The only transfer coding that the service supports is chunked.'
}
