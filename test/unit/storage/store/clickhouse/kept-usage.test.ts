import { describe, expect, it } from 'vitest'
import { requireLineItems, requireSums } from '../../../../../src/storage/store/clickhouse/kept-usage.ts'
import { Problem } from '../../../../../src/foundation/domain/problem.ts'
import { ALL_KEPT, type KeptUsage } from '../../../../../src/storage/store/retention.ts'

const at = (text: string): number => Date.parse(`${text}Z`)
const KEPT: KeptUsage = {
  lineItemsFromMs: at('2026-06-01T00:00:00'),
  sumsFromMs: at('2026-02-01T00:00:00'),
  statementsFromMs: 0,
}

type Check = typeof requireSums

/** The refused parameter and the earliest time; null: the range is kept. */
function refusal(check: Check, from: string, to: string, kept = KEPT): readonly unknown[] | null {
  try {
    check({ fromMs: at(from), toMs: at(to) }, kept)
    return null
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    expect(cause.code).toBe('payload_invalid')
    return [cause.errors[0]?.pointer, cause.extensions['keptFrom']]
  }
}

const ITEMS = '2026-06-01T00:00:00.000Z'
const SUMS = '2026-02-01T00:00:00.000Z'

describe('a range of line items', () => {
  it.each([
    ['2026-06-01T00:00:00', '2026-07-01T00:00:00', null],
    ['2026-05-31T23:59:59.999', '2026-07-01T00:00:00', ['/from', ITEMS]],
    ['1970-01-01T00:00:00', '2026-05-01T00:00:00', ['/from', ITEMS]],
    ['2026-05-01T00:00:00', '2026-05-01T00:00:00', null],
  ])('from %s to %s: %j', (from, to, expected) => {
    expect(refusal(requireLineItems, from, to)).toEqual(expected)
  })
})

describe('a range of sums', () => {
  it.each([
    ['2026-02-01T00:00:00', '2026-07-01T00:00:00', null],
    ['2026-06-01T00:00:10', '2026-07-01T00:00:10', null],
    ['2026-05-31T23:00:00', '2026-07-01T00:00:10', null],
    ['2026-05-31T23:00:01', '2026-07-01T00:00:00', ['/from', ITEMS]],
    ['2026-05-31T23:10:00', '2026-05-31T23:20:00', ['/from', ITEMS]],
    ['2026-03-01T00:00:00', '2026-05-31T23:00:01', ['/to', ITEMS]],
    ['2026-05-31T22:00:00', '2026-06-01T00:00:01', null],
    ['2026-05-31T23:30:00', '2026-06-01T00:30:00', ['/from', ITEMS]],
    ['2026-01-31T23:00:00', '2026-02-02T00:00:00', ['/from', SUMS]],
    ['2026-01-31T23:59:59', '2026-02-01T00:00:00', ['/from', SUMS]],
    ['1970-01-01T00:00:00', '2100-01-01T00:00:00', ['/from', SUMS]],
    ['2026-01-01T00:00:10', '2026-01-01T00:00:10', null],
  ])('from %s to %s: %j', (from, to, expected) => {
    expect(refusal(requireSums, from, to)).toEqual(expected)
  })

  it('is kept as a whole if nothing was removed', () => {
    expect(refusal(requireSums, '1970-01-01T00:00:01', '2100-01-01T00:00:01', ALL_KEPT)).toBeNull()
  })
})
