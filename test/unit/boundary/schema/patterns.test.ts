import { expect, it } from 'vitest'
import { Patterns, patternsIn, preparePatterns } from '../../../../src/boundary/schema/patterns.ts'

it('finds the patterns of values and of names, at any depth', () => {
  const found = patternsIn({
    a: { type: 'string', pattern: '^a$' },
    b: [{ items: { anyOf: [{ pattern: '^b$' }] } }],
    c: { patternProperties: { '^c': { pattern: '^d$' } } },
    pattern: { type: 'string' },
  })
  expect([...found].sort()).toEqual(['^a$', '^b$', '^c', '^d$'])
})

it('takes a turn after each pattern', async () => {
  const steps: string[] = []
  const compiler = { preparePattern: (pattern: string) => void steps.push(pattern) }
  await preparePatterns(['^a$', '^b$'], compiler, async () => void steps.push('turn'))
  expect(steps).toEqual(['^a$', 'turn', '^b$', 'turn'])
})

it('compiles a pattern once, and refuses those that need backtracking', () => {
  const patterns = new Patterns()
  const pattern = patterns.prepare('^a+$')
  expect(patterns.compile('^a+$')).toBe(pattern)
  expect(pattern?.test('aaa')).toBe(true)
  expect(patterns.prepare('^(?=a)a$')).toBeNull()
  expect(() => patterns.compile('^(?=a)a$')).toThrow('linear time')
})
