import { expect, it } from 'vitest'
import { ownerOf, scopesFor } from '../../../../src/interfaces/platform/caller-owner.ts'
import { toGrant } from '../../../fixtures/test-platform.ts'

const SCOPE = 'usage:read:own'
const entitlements = {
  ofUser: async (tenant: string, id: string) =>
    tenant === 'acme' && id === 'usr_1'
      ? { scopes: new Set([SCOPE, 'risks:read']), consumers: new Map([[SCOPE, new Set(['con_a', 'con_b'])]]) }
      : null,
}
const grant = toGrant('acme')

it.each([
  ['a client acts for its consumer', { grant, person: '' }, undefined, 'con_acme'],
  ['a client cannot choose another consumer', { grant, person: '' }, 'con_a', null],
  ['a user acts for the first consumer of their roles', { grant, person: 'usr_1' }, undefined, 'con_a'],
  ['a user can choose another consumer of their roles', { grant, person: 'usr_1' }, 'con_b', 'con_b'],
  ['a user that does not exist covers no consumer', { grant, person: 'usr_2' }, undefined, null],
  ['a user cannot choose the consumer of the client', { grant, person: 'usr_1' }, 'con_acme', null],
  [
    'a person of an external provider acts for the consumer of the client, also with the id of a user',
    { grant: { ...grant, type: 'Federated' as const }, person: 'usr_1' },
    undefined,
    'con_acme',
  ],
])('%s', async (_, caller, wanted, owner) => {
  expect(await ownerOf(entitlements, caller, SCOPE, wanted)).toBe(owner)
})

it('a user whose roles have another scope covers no consumer', async () => {
  expect(await ownerOf(entitlements, { grant, person: 'usr_1' }, 'requests:read:own', undefined)).toBeNull()
})

it('a user whose roles give the scope for the tenant covers the consumer of the client', async () => {
  const caller = { grant, person: 'usr_1' }
  expect(await ownerOf(entitlements, caller, 'risks:read:own', undefined)).toBe('con_acme')
  expect(await ownerOf(entitlements, caller, 'risks:read:own', 'con_a')).toBeNull()
})

it.each([
  ['its own', '', 'con_acme', [SCOPE, 'apis:read', 'risks:read:own']],
  ['another', '', 'con_a', ['apis:read']],
  ['an assigned', 'usr_1', 'con_a', [SCOPE, 'apis:read']],
  ['the client’s', 'usr_1', 'con_acme', ['apis:read', 'risks:read:own']],
])('a caller holds, for %s consumer, the scopes of the tenant and those that cover it', async (_, person, to, held) => {
  const scopes = new Set([SCOPE, 'risks:read:own', 'apis:read'])
  expect([...(await scopesFor(entitlements, { grant, person, scopes }, to))].toSorted()).toEqual(held.toSorted())
})
