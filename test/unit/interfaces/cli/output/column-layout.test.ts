import { describe, expect, it } from 'vitest'
import { layOutColumns, type ColumnNeed } from '../../../../../src/interfaces/cli/output/column-layout.ts'

const need = (name: string, width: number, other: Partial<ColumnNeed> = {}): ColumnNeed => ({
  name,
  width,
  isWhole: false,
  isEmpty: false,
  ...other,
})
const whole = (name: string, width: number) => need(name, width, { isWhole: true })
const widthsOf = (needs: readonly ColumnNeed[], columns: number, first = ['id']) => {
  const { shown, hidden } = layOutColumns(needs, { columns, first })
  return { shown: Object.fromEntries(shown.map(({ name, width }) => [name, width])), hidden }
}

describe('layOutColumns', () => {
  it('gives every column its width if there is room, and in a pipe', () => {
    const needs = [whole('id', 30), need('message', 500)]
    expect(widthsOf(needs, 532)).toEqual({ shown: { id: 30, message: 500 }, hidden: [] })
    expect(widthsOf(needs, Infinity)).toEqual({ shown: { id: 30, message: 500 }, hidden: [] })
  })

  it('shortens the widest text, and never an id', () => {
    expect(widthsOf([whole('id', 30), need('kind', 11), need('message', 90)], 80)).toEqual({
      shown: { id: 30, kind: 11, message: 35 },
      hidden: [],
    })
  })

  it('hides the columns that do not fit, from the last, and those without values first', () => {
    const needs = [whole('id', 30), need('note', 20, { isEmpty: true }), whole('state', 10), need('message', 90)]
    expect(widthsOf(needs, 60)).toEqual({ shown: { id: 30, state: 10, message: 16 }, hidden: ['note'] })
    expect(widthsOf(needs, 45)).toEqual({ shown: { id: 30, state: 10 }, hidden: ['note', 'message'] })
  })

  it('shows the named columns first, in the order of the table', () => {
    const needs = [whole('time', 20), need('api', 12), whole('value', 8)]
    expect(widthsOf(needs, 31, ['api', 'value'])).toEqual({ shown: { api: 12, value: 8 }, hidden: ['time'] })
  })

  it('shows an id that is wider than the terminal', () => {
    expect(widthsOf([need('note', 9), whole('id', 30)], 20)).toEqual({ shown: { id: 30 }, hidden: ['note'] })
  })

  it.each([0, 1, 12, 13, 40, 79, 80, 200])('never exceeds %i columns with more than one column', (columns) => {
    const needs = [whole('id', 30), need('a', 5), need('b', 40), whole('c', 20), need('d', 100)]
    const { shown } = layOutColumns(needs, { columns, first: ['id'] })
    const width = shown.reduce((sum, column) => sum + column.width + 2, -2)
    expect(shown.length === 1 || width <= columns).toBe(true)
  })
})
