/** Reads the body or the query of an OAuth request that fastify has parsed. */

import type { FastifyRequest } from 'fastify'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns null if the body is not UTF-8. */
export function jsonOf({ body }: FastifyRequest): string | null {
  try {
    return Buffer.isBuffer(body) ? utf8.decode(body) : ''
  } catch {
    return null
  }
}

/** Returns the pairs of the form, or of the query. */
export function formOf(request: FastifyRequest): readonly (readonly [string, string])[] {
  if (request.method === 'POST') return Array.isArray(request.body) ? (request.body as [string, string][]) : []
  const at = request.url.indexOf('?')
  return at < 0 ? [] : [...new URLSearchParams(request.url.slice(at + 1))]
}
