import { expect, it } from 'vitest'
import { compileResponses } from '../../../../src/gateway/validation/declared-responses.ts'
import { compileValidators } from '../../../../src/gateway/validation/validate.ts'
import type { RoutePlan } from '../../../../src/boundary/plan/route-plan.ts'

const MANY = 40
const schema = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: MANY }, (_, at) => [`p${at}`, { type: 'string', pattern: `^[\\p{L}]{${at + 1}}$` }]),
  ),
}
const plan: RoutePlan = {
  api: 'a-v1',
  tenant: 'acme',
  revision: 1,
  state: 'Active',
  backend: null,
  allowedScopes: [],
  memberOfProductIds: [],
  dialect: '3.1',
  components: {},
  responseComponents: {},
  responses: [{ status: '200', content: { 'application/json': schema } }],
  operations: [
    {
      operationId: 'create',
      method: 'POST',
      path: '/a',
      security: [],
      parameters: [],
      body: { required: true, bytesMax: 1_000, content: { 'application/json': schema } },
      responses: [0],
    },
  ],
}

it('compiles many patterns of a request in slices', async () => {
  let turns = 0
  await compileValidators(plan, async () => void turns++)
  expect(turns).toBeGreaterThan(MANY)
})

it('does not check a response with many patterns until they are compiled in slices', async () => {
  const turns: (() => void)[] = []
  const pace = (): Promise<void> => new Promise((resolve) => turns.push(resolve))
  const declared = compileResponses(plan, pace)[0]!.find(200)!
  expect(declared.checkFor('application/json')).toBeNull()
  for (let turn = 0; turn < MANY; turn++) {
    expect(turns).toHaveLength(turn + 1)
    expect(declared.checkFor('application/json')).toBeNull()
    turns[turn]!()
    await Promise.resolve()
    await Promise.resolve()
  }
  await new Promise(setImmediate)
  expect(declared.checkFor('application/json')?.({ p0: '1' })).toHaveLength(1)
})
