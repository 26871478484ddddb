import { expect, it } from 'vitest'
import { drawBars } from '../../../../../src/interfaces/cli/output/bars.ts'

const names = ['api', 'value']
const rows = [
  { api: 'orders-v1', value: 50 },
  { api: 'payments-v1', value: 100 },
  { api: 'none-v1', value: 0 },
]
const bars = (columns: number): number[] =>
  drawBars({ names, rows, bar: 'value' }, { columns, colour: false })
    .text.split('\n')
    .slice(1, 4)
    .map((line) => line.replace(/[^█]/g, '').length)

it('drawBars draws a bar per row in proportion to the largest value', () => {
  expect(bars(80)).toEqual([12, 24, 0])
})

it('drawBars draws no bars on a narrow terminal', () => {
  expect(bars(50)).toEqual([0, 0, 0])
})

it('drawBars never exceeds the width of the terminal', () => {
  const wide = rows.map((row) => ({ ...row, api: 'a'.repeat(100) }))
  const lines = drawBars({ names, rows: wide, bar: 'value' }, { columns: 70, colour: false }).text.split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(70)
})
