import { describe, expect, it } from 'vitest'
import { createRegisteredClients } from '../../../../../src/control/identity/clients/registered-clients.ts'
import { toSharedClientGrant } from '../../../../../src/boundary/plan/grant.ts'
import { GRANT } from '../../../../fixtures/token-endpoints.ts'

const URL_OF_CLIENT = 'https://app.example/client.json'

const find = createRegisteredClients({
  baseUrl: 'https://platform.example',
  subscribed: async (clientId) =>
    clientId === 'tollgate-cli.taken'
      ? { grant: GRANT, secretHash: 'hash', redirectUris: [], mayRefresh: false }
      : null,
  tenantNamed: async (organisation) => (['acme', 'Acme Inc.'].includes(organisation) ? 'acme' : null),
  selfRegistered: async (clientId) =>
    clientId === 'rcl_1'
      ? {
          grant: toSharedClientGrant('acme', 'Agent'),
          secretHash: '',
          redirectUris: [],
          mayRefresh: false,
          isSelfRegistered: true,
        }
      : null,
  findMetadataClient: async (clientId, tenant) =>
    clientId === URL_OF_CLIENT
      ? {
          grant: toSharedClientGrant(tenant, 'Reader'),
          secretHash: '',
          redirectUris: [],
          mayRefresh: false,
          asksOrganisation: true,
        }
      : null,
})
const tenantOf = async (...name: Parameters<typeof find>) => (await find(...name))?.grant.tenant

describe('a client', () => {
  it('of the service belongs to the tenant that its id names, by id or by name', async () => {
    expect(await find('tollgate-cli.acme')).toMatchObject({ secretHash: '', isLocal: true, grant: { type: 'Shared' } })
    expect(await tenantOf('tollgate-cli.acme')).toBe('acme')
    expect(await tenantOf('tollgate-cli.Acme Inc.')).toBe('acme')
    expect(await tenantOf('tollgate-cli.acme', 'another')).toBe('acme')
  })

  it('of an unknown organisation is like one of a tenant without people, which no other organisation shares', async () => {
    const [known, unknown] = [await find('tollgate-cli.acme'), await find('tollgate-cli.nobody')]
    expect(unknown).toEqual({ ...known, grant: { ...known?.grant, tenant: 'unknown nobody' } })
    expect(await tenantOf('tollgate-cli.none')).toBe('unknown none')
  })

  it('of a subscription comes first', async () => {
    expect(await find('tollgate-cli.taken')).toMatchObject({ grant: GRANT, secretHash: 'hash' })
  })

  it('that registered itself keeps its tenant, whatever the person names', async () => {
    expect(await tenantOf('rcl_1')).toBe('acme')
    expect(await tenantOf('rcl_1', 'another')).toBe('acme')
  })

  it('with a metadata document gets the tenant that the person has named', async () => {
    expect(await tenantOf(URL_OF_CLIENT)).toBe('')
    expect(await tenantOf(URL_OF_CLIENT, 'Acme Inc.')).toBe('acme')
    expect(await tenantOf(URL_OF_CLIENT, 'nobody')).toBe('unknown nobody')
  })

  it('is unknown with any other id', async () => {
    for (const id of ['', 'tollgate-cli', 'tollgate-cli.', `tollgate-cli.${'x'.repeat(300)}`, 'cli_none']) {
      expect(await find(id)).toBeNull()
    }
  })
})
