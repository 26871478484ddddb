/**
 * The cursor of a page of line items: the key of its last row. The next page begins after this key, even if
 * rows were added meanwhile. Text from a caller is accepted only if it has this shape; it is not signed.
 */

import { Problem } from '../../domain/problem.ts'

export interface CursorRow {
  readonly start_s: number
  readonly api: string
  readonly consumer: string
  readonly operation: string
  readonly subscription: string
  readonly agent: string
  readonly currency: string
  readonly channel: string
}

export type Cursor = readonly [startS: number, ...key: string[]]

/** Sorts before every line item. */
export const FIRST_CURSOR: Cursor = [0, '', '', '', '', '', '', '']
/** Sorts after every channel: completes a cursor of an earlier version, which had none. */
const LAST_CHANNEL = '~'

export function toCursor(row: CursorRow): string {
  const { start_s, api, consumer, operation, subscription, agent, currency, channel } = row
  return JSON.stringify([start_s, api, consumer, operation, subscription, agent, currency, channel])
}

export function parseCursor(text: string): Cursor {
  try {
    const value: unknown = JSON.parse(text)
    const cursor = isEarlier(value) ? [...value, LAST_CHANNEL] : value
    if (isCursor(cursor)) return cursor
  } catch {
    // Not JSON: refused below.
  }
  throw new Problem('cursor_invalid', 'Send the `next` of the previous page unchanged.')
}

export function toCursorParams(cursor: Cursor): Record<string, unknown> {
  const [start, api, consumer, operation, subscription, agent, currency, channel] = cursor
  return {
    after_start_s: start,
    after_api: api,
    after_consumer: consumer,
    after_operation: operation,
    after_subscription: subscription,
    after_agent: agent,
    after_currency: currency,
    after_channel: channel,
  }
}

function isEarlier(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length === FIRST_CURSOR.length - 1
}

function isCursor(value: unknown): value is Cursor {
  if (!Array.isArray(value) || value.length !== FIRST_CURSOR.length) return false
  const [start, ...key] = value as unknown[]
  return isSecond(start) && key.every((part) => typeof part === 'string')
}

function isSecond(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32
}
