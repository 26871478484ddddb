/** Sends a page of rows as JSON, or as CSV if the caller prefers it. */

import type { FastifyReply } from 'fastify'
import { preferredType } from '../../foundation/runtime/accept.ts'
import { toCsv } from './csv.ts'

type Row = Readonly<Record<string, unknown>>

export const CSV = 'text/csv; charset=utf-8; header=present'

export function sendTable(
  reply: FastifyReply,
  columns: readonly string[],
  items: readonly Row[],
  next: string | null,
): unknown {
  const { headers, url } = reply.request
  void reply.header('Vary', 'Accept')
  if (preferredType(headers.accept, ['application/json', CSV]) !== CSV) return { items, next }
  if (next !== null) void reply.header('Link', `<${nextUrl(url, next)}>; rel="next"`)
  return sendCsv(reply, columns, items)
}

export function sendCsv(reply: FastifyReply, columns: readonly string[], items: readonly Row[]): unknown {
  return reply.type(CSV).send(toCsv(columns, items))
}

/** RFC 8288, relative to the page itself. */
function nextUrl(url: string, next: string): string {
  const [path = '', query = ''] = url.split('?', 2)
  const params = new URLSearchParams(query)
  params.set('cursor', next)
  return `${path}?${params.toString()}`
}
