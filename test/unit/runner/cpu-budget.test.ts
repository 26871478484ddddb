import { describe, expect, it } from 'vitest'
import { excessOf, mostUsed } from '../../runner/cpu-budget.ts'

describe('the CPU budget of test files', () => {
  const budget = { a: 10, b: 20, c: 30 }

  it('names a file that used more than half as much again', () => {
    expect(excessOf({ a: 10, b: 20, c: 46 }, budget)).toEqual([
      'c used 46.0 s of CPU; its budget is 30.0 s (test/budget.json)',
    ])
    expect(excessOf({ a: 10, b: 20, c: 45 }, budget)).toEqual([])
  })

  it('allows every file more on a machine on which all of them take longer', () => {
    expect(excessOf({ a: 30, b: 60, c: 90 }, budget)).toEqual([])
    expect(excessOf({ a: 30, b: 60, c: 140 }, budget)).toEqual([
      'c used 140.0 s of CPU; its budget is 90.0 s (test/budget.json)',
    ])
  })

  it('takes no machine for more than twice as fast', () => {
    expect(excessOf({ a: 0.1, new: 1.5 }, budget)).toEqual([])
    expect(excessOf({ a: 0.1, new: 1.6 }, budget)).toHaveLength(1)
  })

  it('allows two seconds for a file without a line', () => {
    expect(excessOf({ a: 10, new: 3.1 }, budget)).toEqual([
      'new used 3.1 s of CPU; its budget is 2.0 s (test/budget.json)',
    ])
    expect(excessOf({ a: 10, new: 3 }, budget)).toEqual([])
    expect(excessOf({ new: 3.1 }, {})).toHaveLength(1)
  })
})

it('the files that used most CPU are shown first, after the sum of all', () => {
  expect(mostUsed({ a: 1, b: 3.26, c: 2 }, 2)).toBe('6 in 3 files; most:\n  3.3 b\n  2.0 c')
})
