import { expect, it } from 'vitest'
import { Problem, type Conflict } from '../../../../src/foundation/domain/problem.ts'

it('a problem of the code `state_conflict` needs a state and what it allows', () => {
  const conflict: Conflict = { state: 'Disabled', allowed: ['enable'] }
  expect(new Problem('state_conflict', 'Disabled.', { extensions: conflict }).extensions).toEqual(conflict)
  // @ts-expect-error: no state
  expect(new Problem('state_conflict', 'Disabled.').extensions).toEqual({})
  // @ts-expect-error: nothing about what the state allows
  expect(new Problem('state_conflict', 'Disabled.', { extensions: { state: 'Disabled' } }).status).toBe(409)
  expect(new Problem('not_found', 'None.').status).toBe(404)
})

it('a stored problem is restored with all its members', () => {
  const stored = {
    code: 'state_conflict',
    detail: 'Disabled.',
    errors: [{ pointer: '/a', detail: 'b' }],
    extensions: { state: 'Disabled', allowed: ['enable'] },
  } as const
  const { code, message: detail, errors, extensions } = Problem.restore(stored)
  expect({ code, detail, errors, extensions }).toEqual(stored)
})
