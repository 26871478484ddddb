import { expect, it } from 'vitest'
import { packDocument, unpackDocument, unpackPlan } from '../../../../src/boundary/plan/packed-plan.ts'
import type { DocumentPlan } from '../../../../src/boundary/plan/route-plan.ts'

const OPERATION = {
  operationId: 'list',
  method: 'GET',
  path: '/a',
  security: [],
  parameters: [],
  body: null,
  responses: [0, 1],
} as const
const PLAN: DocumentPlan = {
  dialect: '3.0',
  components: { schemas: { Line: { const: 'a\nb\u2028' }, Any: true }, parameters: {} },
  responses: [
    { status: '200', content: { 'application/json': { $ref: '#/components/schemas/Line' } } },
    { status: 'default', content: null },
  ],
  responseComponents: {},
  operations: [OPERATION, { ...OPERATION, operationId: 'read', path: '/b' }],
  readBytesPerSecondMin: 7,
}

it('is unpacked as it was packed', async () => {
  expect(await unpackDocument(packDocument(PLAN))).toEqual(PLAN)
  const { readBytesPerSecondMin: _, ...rest } = PLAN
  const empty = { ...rest, operations: [], responses: [] }
  expect(await unpackDocument(packDocument(empty))).toEqual(empty)
})

it('keeps a component of the name of the prototype apart from the prototype', async () => {
  const schemas = JSON.parse('{"__proto__": {"type": "string"}, "constructor": false}') as object
  const { components } = await unpackDocument(packDocument({ ...PLAN, components: { schemas } }))
  expect(Object.entries(components['schemas'] as object)).toEqual([
    ['__proto__', { type: 'string' }],
    ['constructor', false],
  ])
  expect(Object.getPrototypeOf(components['schemas'])).toBe(Object.prototype)
})

it('adds the document to the rest of the plan', async () => {
  const revision = {
    api: 'a-v1',
    tenant: 'acme',
    revision: 2,
    state: 'Active',
    backend: null,
    allowedScopes: [],
    memberOfProductIds: [],
  } as const
  expect(await unpackPlan({ ...revision, document: packDocument(PLAN) })).toEqual({ ...revision, ...PLAN })
})

it('lets the thread do other work while it unpacks a large document', async () => {
  const schema = { enum: Array.from({ length: 200 }, (_, index) => `value ${index}`) }
  const schemas = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`s${index}`, schema]))
  const packed = packDocument({ ...PLAN, components: { schemas } })
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const { components } = await unpackDocument(packed)
  isDone = true

  expect(Object.keys(components['schemas'] as object)).toHaveLength(3_000)
  expect(turns).toBeGreaterThan(3)
})
