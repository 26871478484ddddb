import { expect, it } from 'vitest'
import { faultAt } from '../../../../../src/interfaces/console/parts/fault-at.ts'

it('A fault is that of its pointer, or of one below it', () => {
  const errors = [
    { pointer: '/consumers/1', detail: 'is unknown' },
    { pointer: '/percent', detail: 'is too high' },
  ]
  expect(faultAt(errors, '/percent')).toBe('is too high')
  expect(faultAt(errors, '/consumers')).toBe('is unknown')
  expect(faultAt(errors, '/consumers/1')).toBe('is unknown')
  expect(faultAt(errors, '/consumers/10')).toBeUndefined()
  expect(faultAt(errors, '/per')).toBeUndefined()
  expect(faultAt(undefined, '/percent')).toBeUndefined()
})
