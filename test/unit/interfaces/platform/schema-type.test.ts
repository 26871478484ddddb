import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Call, Handlers, Operations } from '../../../../src/interfaces/platform/operation.ts'
import type { FromSchema, PathParams } from '../../../../src/interfaces/platform/schema-type.ts'
import {
  formerly,
  named,
  nullable,
  object,
  pagedQuery,
  reference,
  text,
} from '../../../../src/interfaces/platform/schemas.ts'
import { createValidatorCompiler } from '../../../../src/interfaces/platform/validator.ts'

const tier = { type: 'string', enum: ['gold', 'silver'] } as const
const seats = { type: 'integer', minimum: 1, default: 1 } as const
const order = named(
  'Order',
  object({ tier, seats, note: nullable(text), tags: { type: 'array', items: text }, at: object({ zone: text }, []) }, [
    'tier',
    'note',
  ]),
)
type Order = FromSchema<typeof order>

const OPERATIONS = {
  placeOrder: {
    method: 'POST',
    path: '/v1/shops/:shop/orders/:id',
    summary: 'Places an order',
    tag: 'Service',
    scope: null,
    body: order,
    query: pagedQuery({ tier, old: formerly('tier', tier) }),
    status: 201,
  },
  pause: { method: 'POST', path: '/v1/pause', summary: 'Pauses', tag: 'Service', scope: null, status: 200 },
} as const satisfies Operations

describe('the type of a schema', () => {
  it('has a member for each property, optional if it is neither required nor has a default', () => {
    expectTypeOf<Order>().toEqualTypeOf<{
      readonly tier: 'gold' | 'silver'
      readonly seats: number
      readonly note: string | null
      readonly tags?: readonly string[]
      readonly at?: { readonly zone?: string }
    }>()
  })

  it('is the one value of a constant and the values of an enumeration', () => {
    expectTypeOf<FromSchema<{ readonly const: 'risk' }>>().toEqualTypeOf<'risk'>()
    expectTypeOf<
      FromSchema<{ readonly type: readonly ['string', 'null']; readonly enum: readonly ['a', null] }>
    >().toEqualTypeOf<'a' | null>()
  })

  it('includes null for a body that may be omitted', () => {
    const body = { ...object({ force: { type: 'boolean', default: false } }, []), type: ['object', 'null'] } as const
    expectTypeOf<FromSchema<typeof body>>().toEqualTypeOf<{ readonly force: boolean } | null>()
  })

  it('is a record for an object without declared members', () => {
    expectTypeOf<FromSchema<{ readonly type: 'object' }>>().toEqualTypeOf<Readonly<Record<string, unknown>>>()
  })

  it('is unknown for a schema that was declared without `as const`', () => {
    const loose = { type: 'string' }
    expectTypeOf<FromSchema<typeof loose>>().toBeUnknown()
  })

  it('requires no name that is not a property', () => {
    // @ts-expect-error `nmae` is not a property
    expect(object({ name: reference }, ['nmae']).required).toEqual(['nmae'])
  })
})

describe('the call of an operation', () => {
  it('has the parameters that its path names, and no other', () => {
    expectTypeOf<PathParams<'/v1/shops/:shop/orders/:id'>>().toEqualTypeOf<{
      readonly shop: string
      readonly id: string
    }>()
    expectTypeOf<PathParams<'/v1/pause'>>().toEqualTypeOf<{}>()
    expectTypeOf<Call<(typeof OPERATIONS)['placeOrder']>['params']>().toHaveProperty('shop')
    expectTypeOf<Call<(typeof OPERATIONS)['placeOrder']>['params']>().not.toHaveProperty('name')
  })

  it('has the query and the body that the operation declares', () => {
    type Placed = Call<(typeof OPERATIONS)['placeOrder']>
    expectTypeOf<Placed['body']>().toEqualTypeOf<Order>()
    expectTypeOf<Placed['query']>().toEqualTypeOf<{
      readonly limit: number
      readonly cursor?: string
      readonly tier?: 'gold' | 'silver'
      readonly old?: 'gold' | 'silver'
    }>()
  })

  it('has an unknown body if the operation declares none', () => {
    expectTypeOf<Call<(typeof OPERATIONS)['pause']>['body']>().toBeUnknown()
  })

  it('refuses a handler that reads what the operation does not declare', () => {
    const handlers: Handlers<typeof OPERATIONS> = {
      // @ts-expect-error the path has no parameter `name`
      placeOrder: async ({ params }) => params.name,
      pause: async () => null,
    }
    expect(Object.keys(handlers)).toEqual(Object.keys(OPERATIONS))
  })
})

describe('the validator', () => {
  const compile = createValidatorCompiler()

  it('fills in the defaults that the type promises', () => {
    const body: Record<string, unknown> = { tier: 'gold', note: null }
    expect(compile({ schema: order, httpPart: 'body' })(body)).toBe(true)
    expect(body).toEqual({ tier: 'gold', note: null, seats: 1 })
    const query: Record<string, unknown> = {}
    expect(compile({ schema: OPERATIONS.placeOrder.query, httpPart: 'querystring' })(query)).toBe(true)
    expect(query).toEqual({ limit: 50 })
  })

  it.each([
    ['a member that is missing', { tier: 'gold' }],
    ['a value outside the enumeration', { tier: 'bronze', note: null }],
    ['a member that is not declared', { tier: 'gold', note: null, extra: 1 }],
    ['a member of another type', { tier: 'gold', note: 1 }],
  ])('refuses %s, which the type excludes', (_, body) => {
    expect(compile({ schema: order, httpPart: 'body' })(body)).toBe(false)
  })
})
