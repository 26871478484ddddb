import { describe, expect, it } from 'vitest'
import { exportTenant } from '../../../../src/control/access/tenant-export.ts'
import { createAudit } from '../../../../src/control/command/audit-log.ts'
import { openFederatedLogin, signIn, type FederatedLogin } from '../../../fixtures/federated-login.ts'
import { CLIENT } from '../../../fixtures/sign-in-provider.ts'
import { ACME } from '../../../fixtures/test-catalogue.ts'
import { GRANT } from '../../../fixtures/token-authority.ts'

const OWNERS = { claim: 'groups', value: 'staff', role: 'owner' }
const AUDITORS = { claim: 'groups', value: 'auditors', role: 'auditor' }
const READER = new Set(['apis:read', 'usage:read', 'identityproviders:write'])
const FORBIDDEN = { status: 403, code: 'operation_forbidden' }

async function personOf({ users, signIn: people }: FederatedLogin) {
  const { items } = await users.list('acme', { limit: 10 })
  return (await people.find('acme', items[0]?.id ?? ''))!
}

describe('the sign-in of a provider', () => {
  it('shows no secret in answers, the audit log, the feed or the export', async () => {
    const { registry, clock, identityProviders, registered } = await openFederatedLogin()
    const changed = await identityProviders.update(ACME, registered.id, { signIn: { clientSecret: 'another secret' } })
    const seen = [JSON.stringify([registered, changed, await identityProviders.list('acme', { limit: 9 })])]
    registry.watch(0, (change) => seen.push(JSON.stringify(change)))()
    seen.push(JSON.stringify(await createAudit({ registry }).list('acme', { kind: 'identity_provider', limit: 100 })))
    await registry.commit(ACME, 'test', [
      { kind: 'tenant', id: 'acme', tenant: 'acme', expected: 0, body: { name: 'A' } },
    ])
    for await (const line of await exportTenant({ registry, clock }, ACME, 'acme')) seen.push(line)
    expect(seen.join('\n')).toContain(CLIENT.clientId)
    for (const text of seen) expect(text).not.toMatch(/another secret|a secret: with/)
    for (const text of [seen[0], seen.at(-2)]) expect(text).not.toContain('clientSecret')
  })

  it('keeps what a change leaves out', async () => {
    const server = await openFederatedLogin()
    const { identityProviders, registered } = server
    const changed = await identityProviders.update(ACME, registered.id, { signIn: { name: 'Acme' }, audience: 'x' })
    expect(changed).toEqual({ ...registered, audience: 'x', signIn: { ...registered.signIn, name: 'Acme' } })
    await identityProviders.update(ACME, registered.id, { labels: { a: 'b' } })
    expect((await signIn(server)).status).toBe(200)
  })

  it.each<[string, object, string]>([
    ['a role that does not exist', { roles: [{ ...AUDITORS, role: 'none' }] }, '/signIn/roles/0/role'],
    [
      'a role without its consumers',
      { roles: [AUDITORS, { ...AUDITORS, role: 'consumer' }] },
      '/signIn/roles/1/consumers',
    ],
    [
      'a consumer that does not exist',
      { roles: [{ ...AUDITORS, role: 'consumer', consumers: ['con_none'] }] },
      '/signIn/roles/0/consumers/0',
    ],
    ['another client without its secret', { clientId: 'other' }, '/signIn/clientSecret'],
  ])('with %s is refused', async (_, change, pointer) => {
    const { identityProviders, registered } = await openFederatedLogin()
    const refused = identityProviders.update(ACME, registered.id, { signIn: change })
    await expect(refused).rejects.toMatchObject({ code: 'payload_invalid', errors: [{ pointer }] })
  })

  it('needs endpoints, an authentication and an algorithm that the provider publishes', async () => {
    for (const discovery of [
      { authorization_endpoint: undefined },
      { authorization_endpoint: 'javascript:alert(1)' },
      { authorization_endpoint: 'https://idp.example/#x' },
      { token_endpoint: 'https://a:b@idp.example/' },
      { token_endpoint: `https://idp.example/${'x'.repeat(2_048)}` },
      { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
      { id_token_signing_alg_values_supported: ['none', 'HS256'] },
    ]) {
      const refused = openFederatedLogin({}, (provider) => (provider.discovery = discovery))
      await expect(refused, JSON.stringify(discovery)).rejects.toMatchObject({ errors: [{ pointer: '/issuer' }] })
    }
  })

  it.each<[string, object, boolean]>([
    ['of the mapping', { roles: [AUDITORS] }, true],
    ['of the client', { clientId: CLIENT.clientId, clientSecret: 'x' }, true],
    ['of the name', { name: 'Acme' }, false],
    ['of the secret', { clientSecret: 'x' }, false],
  ])('ends the access of its people by a change %s: %o', async (_, change, ends) => {
    const server = await openFederatedLogin()
    await signIn(server)
    const person = await personOf(server)
    await server.identityProviders.update(ACME, server.registered.id, { signIn: change })
    expect(server.gateway.revokedPeople.map((revoked) => revoked.person)).toEqual(ends ? [person.id] : [])
    expect((await server.grantPerson({ client: GRANT, tenant: 'acme', api: 'orders-v1', person })) === null).toBe(ends)
  })

  it.each(['sign-in', 'provider'])('ends the access of its people with the removal of the %s', async (removed) => {
    const server = await openFederatedLogin()
    await signIn(server)
    const person = await personOf(server)
    const { identityProviders, registered } = server
    if (removed === 'provider') await identityProviders.remove(ACME, registered.id)
    else await identityProviders.update(ACME, registered.id, { signIn: null })
    expect(server.gateway.revokedPeople.map((revoked) => revoked.person)).toEqual([person.id])
    expect(await server.signIn.find('acme', person.id)).toBeNull()
    expect(await server.grantPerson({ client: GRANT, tenant: 'acme', api: 'orders-v1', person })).toBeNull()
  })
})

describe('a caller', () => {
  it('can map only roles whose scopes it holds', async () => {
    const { identityProviders, registered } = await openFederatedLogin()
    const roles = [{ ...AUDITORS, role: 'billing' }, OWNERS]
    const input = { issuer: 'https://other.example', signIn: { ...CLIENT, roles } }
    await expect(identityProviders.create(ACME, input, READER)).rejects.toMatchObject(FORBIDDEN)
    const change = { signIn: { roles: [OWNERS] } }
    await expect(identityProviders.update(ACME, registered.id, change, READER)).rejects.toMatchObject(FORBIDDEN)
    expect(await identityProviders.update(ACME, registered.id, { signIn: { roles: [AUDITORS] } }, READER)).toBeTruthy()
  })

  it('can neither choose the client nor remove the sign-in of people with rights that it does not hold', async () => {
    const { identityProviders, registered } = await openFederatedLogin({ roles: [OWNERS] })
    const { id } = registered
    for (const signIn of [
      { clientId: 'mine', clientSecret: 'x' },
      { createPeople: true },
      { roles: [AUDITORS] },
      null,
    ]) {
      await expect(identityProviders.update(ACME, id, { signIn }, READER)).rejects.toMatchObject(FORBIDDEN)
    }
    await expect(identityProviders.remove(ACME, id, READER)).rejects.toMatchObject(FORBIDDEN)
    expect(await identityProviders.get('acme', id)).toEqual(registered)
    expect(await identityProviders.update(ACME, id, { audience: 'x' }, READER)).toMatchObject({ audience: 'x' })
  })

  it('cannot remove a role that a provider gives', async () => {
    const { roles, identityProviders, registered } = await openFederatedLogin()
    await roles.create(ACME, { name: 'own', scopes: ['apis:read'] })
    await identityProviders.update(ACME, registered.id, { signIn: { roles: [{ ...AUDITORS, role: 'own' }] } })
    await expect(roles.remove(ACME, 'own')).rejects.toMatchObject({ code: 'state_conflict' })
    await identityProviders.update(ACME, registered.id, { signIn: null })
    await roles.remove(ACME, 'own')
  })
})
