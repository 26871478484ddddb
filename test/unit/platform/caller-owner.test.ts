import { expect, it } from 'vitest'
import { ownerOf } from '../../../src/platform/caller-owner.ts'
import { toGrant } from '../../fixtures/test-platform.ts'

const SCOPE = 'usage:read:own'
const entitlements = {
  ofUser: async (tenant: string, id: string) =>
    tenant === 'acme' && id === 'usr_1'
      ? { scopes: new Set([SCOPE]), consumers: new Map([[SCOPE, new Set(['con_a', 'con_b'])]]) }
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
  expect(await ownerOf(entitlements, { grant, person: 'usr_1' }, 'risks:read:own', undefined)).toBeNull()
})
