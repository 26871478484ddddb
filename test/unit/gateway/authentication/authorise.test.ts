import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/boundary/plan/caller.ts'
import type { SecurityAlternative } from '../../../../src/boundary/plan/route-plan.ts'
import { authorise } from '../../../../src/gateway/authentication/authorise.ts'
import { createRandom } from '../../../random.ts'

function caller(method: Caller['method'], scopes: readonly string[], more: Partial<Caller> = {}, product = ''): Caller {
  const grant = {
    credential: 'cred_1',
    type: 'OAuth2',
    valid: true,
    active: true,
    expiresAtMs: 0,
    tenant: 'acme',
    subscription: 'sub_1',
    consumer: 'con_1',
    consumerName: 'Ann',
    consumerKind: 'application',
    api: 'payments-v1',
    apiProductId: product,
    scopes,
    variant: '',
    version: 1,
    subscriptionRevision: 1,
  } as const
  return {
    grant,
    method,
    api: 'payments-v1',
    scopes: new Set(scopes),
    agent: '',
    person: '',
    jti: '',
    expiresAtMs: Infinity,
    certificate: '',
    ...more,
  }
}

const token = (...tokenScopes: string[]): SecurityAlternative => ({ tokenScopes, apiKey: false, keyScopes: [] })
const keyed = (...keyScopes: string[]): SecurityAlternative => ({ tokenScopes: null, apiKey: true, keyScopes })
const both = (...scopes: string[]): SecurityAlternative => ({ tokenScopes: scopes, apiKey: true, keyScopes: scopes })
function proxy(allowed: readonly string[], memberOfProductIds: readonly string[] = [], tenant = 'acme') {
  const allowedScopes = new Set(allowed)
  return { allowedScopes, heldScopes: allowedScopes, plan: { tenant, memberOfProductIds } }
}
/** A revision beside another one that allows `others`. */
const beside = (allowed: readonly string[], others: readonly string[]) => ({
  ...proxy(allowed),
  heldScopes: new Set([...allowed, ...others]),
})

describe('authorisation', () => {
  it('admits a caller that satisfies all scopes of any alternative', () => {
    const security = [token('read', 'list'), token('admin')]
    const allowed = proxy(['read', 'list', 'admin'])
    expect(authorise(security, caller('token', ['read', 'list']), allowed)).toBeNull()
    expect(authorise(security, caller('token', ['admin']), allowed)).toBeNull()
    expect(authorise(security, caller('token', ['read']), allowed)).toBe('operation_forbidden')
    expect(authorise(security, caller('token', []), allowed)).toBe('operation_forbidden')
    expect(authorise([token()], caller('token', []), allowed)).toBeNull()
  })

  it('accepts only the kind of credential that an alternative names', () => {
    expect(authorise([keyed()], caller('token', ['read']), proxy(['read']))).toBe('operation_forbidden')
    expect(authorise([token()], caller('key', ['read']), proxy(['read']))).toBe('operation_forbidden')
    expect(authorise([token('read'), keyed()], caller('key', []), proxy(['read']))).toBeNull()
  })

  it('requires both credentials if an alternative names both', () => {
    const allowed = proxy(['read'], ['product_1'])
    const second = caller('key', ['read'])
    expect(authorise([both('read')], caller('token', ['read']), allowed)).toBe('operation_forbidden')
    expect(authorise([both('read')], caller('key', ['read']), allowed)).toBe('operation_forbidden')
    expect(authorise([both('read')], caller('token', ['read'], { key: second }), allowed)).toBeNull()
    expect(authorise([keyed('read')], caller('token', [], { key: second }), allowed)).toBeNull()
    const foreign = caller('key', ['read'], {}, 'product_2')
    expect(authorise([both('read')], caller('token', ['read'], { key: foreign }), allowed)).toBe('operation_forbidden')
  })

  it('refuses a token with a scope that the proxy does not allow', () => {
    expect(authorise([token('read')], caller('token', ['read', 'write']), proxy(['read']))).toBe('operation_forbidden')
  })

  it('accepts a token with a scope of the other revision during a canary, but does not open an operation for it', () => {
    const held = caller('token', ['read', 'write'])
    const narrow = beside(['read'], ['read', 'write'])
    expect(authorise([token('read')], held, narrow)).toBeNull()
    expect(authorise([token('write')], held, narrow)).toBe('operation_forbidden')
    expect(authorise([token('write'), token('read')], held, narrow)).toBeNull()
    expect(authorise([token('read')], caller('token', ['read', 'admin']), narrow)).toBe('operation_forbidden')
  })

  it('opens nothing for a key by a scope that only the other revision of a canary allows', () => {
    const held = caller('key', ['read', 'write'])
    expect(authorise([keyed('write')], held, beside(['read'], ['write']))).toBe('operation_forbidden')
    expect(authorise([keyed('read')], held, beside(['read'], ['write']))).toBeNull()
    const pair = caller('token', ['read', 'write'], { key: held })
    expect(authorise([both('write')], pair, beside(['read'], ['write']))).toBe('operation_forbidden')
    expect(authorise([both('read')], pair, beside(['read'], ['write']))).toBeNull()
  })

  it('refuses a key if the proxy does not allow the required scope', () => {
    expect(authorise([keyed('write')], caller('key', ['read', 'write']), proxy(['read']))).toBe('operation_forbidden')
    expect(authorise([keyed('read')], caller('key', ['read', 'write']), proxy(['read']))).toBeNull()
  })

  it('refuses a product’s credential once the proxy has left the product', () => {
    const subscribed = caller('token', ['read'], {}, 'product_1')
    expect(authorise([token('read')], subscribed, proxy(['read'], ['product_1']))).toBeNull()
    expect(authorise([token('read')], subscribed, proxy(['read'], ['product_2']))).toBe('subscription_required')
    expect(authorise([], subscribed, proxy(['read'], []))).toBe('subscription_required')
  })

  it('refuses a caller of another tenant', () => {
    expect(authorise([token()], caller('token', []), proxy([], [], 'other'))).toBe('subscription_required')
  })

  it('admits every subscribed caller to a public operation', () => {
    expect(authorise([], caller('token', ['anything']), proxy([]))).toBeNull()
  })

  it('agrees with a reference implementation on random scopes', () => {
    const names = ['a', 'b', 'c', 'd']
    let seed = 20_261_121
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647)
    const some = (): string[] => names.filter(() => next() % 2 === 0)
    for (let round = 0; round < 20_000; round++) {
      const start = seed
      const held = some()
      const allowed = some()
      const kept = next() % 3 === 0 ? caller('key', some()) : undefined
      const method = next() % 2 === 0 ? 'token' : 'key'
      const who = caller(method, held, method === 'token' && kept !== undefined ? { key: kept } : {})
      const security = Array.from({ length: 1 + (next() % 3) }, () => [token, keyed, both][next() % 3]!(...some()))

      const keys = method === 'key' ? new Set(held) : who.key?.scopes
      const isWithin = method === 'key' || held.every((scope) => allowed.includes(scope))
      const isOpen = security.some(
        ({ tokenScopes, apiKey, keyScopes }) =>
          (tokenScopes === null || (method === 'token' && tokenScopes.every((scope) => held.includes(scope)))) &&
          (!apiKey || (keys !== undefined && keyScopes.every((scope) => keys.has(scope) && allowed.includes(scope)))),
      )
      const expected = isWithin && isOpen ? null : 'operation_forbidden'
      expect(authorise(security, who, proxy(allowed)), `seed ${start}`).toBe(expected)
    }
  })

  it('agrees with a reference implementation on random scopes, products and tenants', () => {
    const names = ['a', 'b', 'c']
    const products = ['', 'prd_1', 'prd_2']
    for (let seed = 1; seed <= 20_000; seed++) {
      const random = createRandom(seed)
      const some = (of: readonly string[]): string[] => of.filter(() => random.below(2) === 0)
      const one = <T>(of: readonly T[]): T => of[random.below(of.length)]!
      const [held, keyHeld, allowed] = [some(names), some(names), some(names)]
      const members = some(products.slice(1))
      const tenant = random.below(8) === 0 ? 'other' : 'acme'
      const product = one(products)
      const key = random.below(2) === 0 ? undefined : caller('key', keyHeld, {}, one(products))
      const method = one(['token', 'key'] as const)
      const who = caller(method, held, method === 'token' && key !== undefined ? { key } : {}, product)
      const security = Array.from({ length: random.below(4) }, () => one([token, keyed, both])(...some(names)))

      const isMember = (id: string): boolean => tenant === 'acme' && (id === '' || members.includes(id))
      const within = (needed: readonly string[], has: readonly string[]): boolean =>
        new Set(needed).isSubsetOf(new Set(has))
      const byKey = method === 'key' ? who : who.key
      const opens = ({ tokenScopes, apiKey, keyScopes }: SecurityAlternative): boolean =>
        (tokenScopes === null || (method === 'token' && within(tokenScopes, held))) &&
        (!apiKey ||
          (byKey !== undefined &&
            isMember(byKey.grant.apiProductId) &&
            within(keyScopes, [...byKey.scopes]) &&
            within(keyScopes, allowed)))
      const isOpen =
        security.length === 0 || ((method === 'key' || within(held, allowed)) && security.some((each) => opens(each)))
      const expected = !isMember(product) ? 'subscription_required' : isOpen ? null : 'operation_forbidden'
      expect(authorise(security, who, proxy(allowed, members, tenant)), `seed ${seed}`).toBe(expected)
    }
  })
})
