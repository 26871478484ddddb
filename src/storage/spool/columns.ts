/**
 * Column numbers for aggregation keys: one column per key, across all segments.
 *
 * Each segment numbers its attributions separately. This table maps such a number to a column once, so that aggregation compares
 * no text. The default keys are those of line items. The person for whom an agent acts is not part of the bill, so no key
 * contains it.
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import type { RecordBatch } from './record-batch.ts'

export interface Columns {
  readonly count: number
  /** Columns, indexed by the attribution number of the batch's segment; valid for all numbers in this batch. */
  of(batch: RecordBatch): Int32Array
  keyAt(column: number): Attribution
  /** Orders columns by the text of their keys, independent of insertion order. */
  compare(a: number, b: number): number
  /** Evicts segments and keys above their limits. Columns are invalid afterwards. */
  tidy(): void
}

interface Segment {
  columns: Int32Array
  filled: number
}

const KEYS_MAX = 250_000
const SEGMENTS_MAX = 64

/** Returns a text that is equal for all attributions with the same key. */
export type KeyText = (attribution: Attribution) => string

export function createColumns(textOf: KeyText = lineItemText): Columns {
  const byText = new Map<string, number>()
  const texts: string[] = []
  const keys: Attribution[] = []
  const segments = new Map<number, Segment>()

  function columnFor(attribution: Attribution): number {
    const text = textOf(attribution)
    const known = byText.get(text)
    if (known !== undefined) return known
    byText.set(text, keys.length)
    texts.push(text)
    return keys.push(attribution) - 1
  }

  return {
    get count() {
      return keys.length
    },
    of({ segmentKey, attributions }) {
      let segment = segments.get(segmentKey)
      if (segment === undefined) segments.set(segmentKey, (segment = { columns: new Int32Array(64), filled: 0 }))
      if (segment.columns.length < attributions.length) {
        const grown = new Int32Array(attributions.length * 2)
        grown.set(segment.columns)
        segment.columns = grown
      }
      for (; segment.filled < attributions.length; segment.filled++)
        segment.columns[segment.filled] = columnFor(attributions[segment.filled]!)
      return segment.columns
    },
    keyAt: (column) => keys[column]!,
    compare: (a, b) => (a === b ? 0 : texts[a]! < texts[b]! ? -1 : 1),
    tidy() {
      const isCrowded = keys.length > KEYS_MAX
      if (isCrowded || segments.size > SEGMENTS_MAX) segments.clear()
      if (!isCrowded) return
      byText.clear()
      texts.length = keys.length = 0
    },
  }
}

/** Includes the consumer's name, so that a replayed range produces identical rows. */
function lineItemText(attribution: Attribution): string {
  const {
    tenant,
    api,
    operation,
    consumer,
    consumerName,
    subscription,
    agent,
    variant,
    currency,
    priceMicro,
    channel,
    revision,
  } = attribution
  return JSON.stringify([
    tenant,
    api,
    operation,
    consumer,
    consumerName,
    subscription,
    agent,
    variant,
    currency,
    priceMicro,
    ...(channel === undefined ? [] : [channel]),
    // A number, unlike the channel. Attributions of earlier versions keep their text, and a repeated flush its order of rows.
    ...(revision === undefined ? [] : [revision]),
  ])
}
