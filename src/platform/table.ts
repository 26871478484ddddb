/** Sends a page of rows as JSON, or as CSV if the caller prefers it. */

import type { FastifyReply } from 'fastify'
import { toCsv } from './csv.ts'

type Row = Readonly<Record<string, unknown>>

export function sendTable(
  reply: FastifyReply,
  columns: readonly string[],
  items: readonly Row[],
  next: string | null,
): unknown {
  const { accept = '', url } = { accept: reply.request.headers.accept, url: reply.request.url }
  void reply.header('Vary', 'Accept')
  if (!prefersCsv(accept)) return { items, next }
  if (next !== null) void reply.header('Link', `<${nextUrl(url, next)}>; rel="next"`)
  return reply.type('text/csv; charset=utf-8; header=present').send(toCsv(columns, items))
}

/** RFC 8288, relative to the page itself. */
function nextUrl(url: string, next: string): string {
  const [path = '', query = ''] = url.split('?', 2)
  const params = new URLSearchParams(query)
  params.set('cursor', next)
  return `${path}?${params.toString()}`
}

/** Returns whether `Accept` names CSV with at least the weight of JSON (RFC 9110, section 12.5.1). */
function prefersCsv(accept: string): boolean {
  const csv = weightOf(accept, 'text/csv')
  return csv > 0 && csv >= weightOf(accept, 'application/json')
}

function weightOf(accept: string, mediaType: string): number {
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (name !== mediaType) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0
  }
  return 0
}
