/**
 * The cursor of a page of line items: the key of its last row. The next page begins after this key, even if
 * rows were added meanwhile. Text from a caller is accepted only if it has this shape; it is not signed.
 */

import { Problem } from '../../../foundation/domain/problem.ts'

export interface CursorRow {
  readonly start_s: number
  readonly api: string
  readonly consumer: string
  readonly operation: string
  readonly subscription: string
  readonly agent: string
  readonly currency: string
  readonly channel: string
  readonly revision: number
}

export type Cursor = readonly [startS: number, ...key: string[], revision: number]

/** Sorts before every line item. */
export const FIRST_CURSOR: Cursor = [0, '', '', '', '', '', '', '', -1]
/** Sort after every channel and revision: they complete a cursor of an earlier version, whose rows covered all of them. */
const LAST_CHANNEL = '~'
const LAST_REVISION = 2 ** 32 - 1

export function toCursor(row: CursorRow): string {
  const { start_s, api, consumer, operation, subscription, agent, currency, channel, revision } = row
  return JSON.stringify([start_s, api, consumer, operation, subscription, agent, currency, channel, revision])
}

export function parseCursor(text: string): Cursor {
  try {
    const cursor = completed(JSON.parse(text))
    if (isCursor(cursor)) return cursor
  } catch {
    // Not JSON: refused below.
  }
  throw new Problem('cursor_invalid', 'Send the `next` of the previous page unchanged.')
}

export function toCursorParams(cursor: Cursor): Record<string, unknown> {
  const [start, api, consumer, operation, subscription, agent, currency, channel, revision] = cursor
  return {
    after_start_s: start,
    after_api: api,
    after_consumer: consumer,
    after_operation: operation,
    after_subscription: subscription,
    after_agent: agent,
    after_currency: currency,
    after_channel: channel,
    after_revision: revision,
  }
}

/** Earlier cursors end with the currency or the channel. */
function completed(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const earlier = value as readonly unknown[]
  if (earlier.length === FIRST_CURSOR.length - 2) return [...earlier, LAST_CHANNEL, LAST_REVISION]
  if (earlier.length === FIRST_CURSOR.length - 1) return [...earlier, LAST_REVISION]
  return earlier
}

function isCursor(value: unknown): value is Cursor {
  if (!Array.isArray(value) || value.length !== FIRST_CURSOR.length) return false
  const [start, ...key] = value as unknown[]
  const revision = key.pop()
  return isUInt32(start) && isUInt32(revision) && key.every((part) => typeof part === 'string')
}

function isUInt32(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32
}
