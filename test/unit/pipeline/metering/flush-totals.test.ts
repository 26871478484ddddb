import { expect, it } from 'vitest'
import { withStored } from '../../../../src/pipeline/metering/flush-totals.ts'

const METERED = { 'line_items/202611': 2, 'calls/202611': 20, 'service_levels/202611': 1 }

it.each([
  ['nothing was stored', {}, METERED],
  [
    'its line items were stored in two months',
    { 'line_items/202610': 1, 'line_items/202611': 2 },
    { 'line_items/202610': 1, 'line_items/202611': 2, 'calls/202611': 20, 'service_levels/202611': 1 },
  ],
  [
    'all was stored, and the spool has lost records since',
    { 'line_items/202611': 3, 'calls/202611': 29, 'service_levels/202611': 1 },
    { 'line_items/202611': 3, 'calls/202611': 29, 'service_levels/202611': 1 },
  ],
])('totals of a repeated flush are right if %s', (_, stored, expected) => {
  expect(withStored(METERED, stored)).toEqual(expected)
})
