/** Small things that routes share: answers to creations, pages, content byte for byte. */

import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { PageQuery } from '../catalogue/page.ts'
import type { Content } from '../catalogue/specifications.ts'

/** 201 with `Location`. */
export function created<T extends { readonly id: string }>(reply: FastifyReply, path: string, resource: T): T {
  void reply.header('Location', `${path}/${encodeURIComponent(resource.id)}`)
  return resource
}

export function toPageQuery(query: Readonly<Record<string, unknown>>): PageQuery {
  const { limit, cursor } = query
  return { limit: typeof limit === 'number' ? limit : 50, ...(typeof cursor === 'string' && { cursor }) }
}

/** The texts among `query`, by the names given. */
export function texts<Name extends string>(
  query: Readonly<Record<string, unknown>>,
  ...names: readonly Name[]
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const value = query[name]
    if (typeof value === 'string') found[name] = value
  }
  return found
}

/** A stored document as it came; a reader that has it is told so. */
export function content(reply: FastifyReply, { bytes, mediaType }: Content): FastifyReply {
  const tag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  void reply.header('ETag', tag).header('X-Content-Type-Options', 'nosniff')
  if (reply.request.headers['if-none-match'] === tag) return reply.code(304).send()
  return reply.type(mediaType).send(bytes)
}
