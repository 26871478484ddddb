/** `from` (inclusive) and `to` (exclusive) of a query, as RFC 3339 times. */

import { Problem } from '../../foundation/domain/problem.ts'

export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/** Later times are clamped to this one, because the store's times end in 2106. */
export const TIME_MS_MAX = Date.UTC(2100, 0, 1)

/** Returns the range of a query. Defaults: `to` is now, `from` is `spanMs` before `to`. */
export function toRange(query: { from?: string; to?: string }, nowMs: number, spanMs: number): TimeRange {
  const { from, to } = query
  const toMs = to === undefined ? nowMs + 1 : instant(to, '/to')
  const fromMs = from === undefined ? Math.max(0, toMs - spanMs) : instant(from, '/from')
  return { fromMs, toMs }
}

/** Throws `Problem('payload_invalid')`. */
export function checkRange({ fromMs, toMs }: TimeRange): void {
  if (fromMs > toMs) throw invalidQuery('/from', '`from` is later than `to`.')
}

export function invalidQuery(pointer: string, detail: string): Problem {
  return new Problem('payload_invalid', 'The query does not match its schema.', { errors: [{ pointer, detail }] })
}

function instant(text: string, pointer: string): number {
  const timeMs = Date.parse(text)
  if (!Number.isFinite(timeMs) || timeMs < 0) throw invalidQuery(pointer, 'Send an RFC 3339 time of 1970 or later.')
  return Math.min(timeMs, TIME_MS_MAX)
}
