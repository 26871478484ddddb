/**
 * Numbers for the keys that calls are added up by: each key one column, whatever segment it comes from.
 *
 * Segments number their attributions each for itself; here that number is turned into a column once, so
 * that adding up needs no text. Keys are those of line items unless told otherwise; the person an agent
 * acted for is no part of the bill and of no key.
 */

import type { Attribution } from '../domain/attribution.ts'
import type { RecordBatch } from './record-batch.ts'

export interface Columns {
  readonly count: number
  /** By attribution number of the batch's segment the column; valid for all ids of this batch. */
  of(batch: RecordBatch): Int32Array
  keyAt(column: number): Attribution
  /** An order of keys that depends on nothing but the keys. */
  compare(a: number, b: number): number
  /** Lets go of segments and keys where they have become too many. No column is kept over it. */
  tidy(): void
}

interface Segment {
  columns: Int32Array
  filled: number
}

const KEYS_MAX = 250_000
const SEGMENTS_MAX = 64

/** What is equal for attributions of one key. */
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

/** The consumer's name is in it so that the rows of a range are the same each time they are made. */
function lineItemText(attribution: Attribution): string {
  const { tenant, api, operation, consumer, consumerName, subscription, agent, variant, currency, priceMicro } =
    attribution
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
  ])
}
