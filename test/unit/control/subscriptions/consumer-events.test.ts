import { describe, expect, it } from 'vitest'
import { createConsumerEvents } from '../../../../src/control/subscriptions/consumer-events.ts'
import { ACME, openTestCatalogue, publishApi } from '../../../fixtures/test-catalogue.ts'

async function setUp() {
  const catalogue = openTestCatalogue()
  const { consumer } = await publishApi(catalogue)
  const api = 'orders-v1'
  const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer, api })
  const other = await catalogue.consumers.create(ACME, { name: 'Other', kind: 'application' })
  const dataFor = createConsumerEvents({ registry: catalogue.registry })
  return { consumer, api, subscription, other: other.id, dataFor, catalogue }
}

describe('an event of the tenant', () => {
  it('about a subscription is for its consumer alone', async () => {
    const { consumer, other, subscription, dataFor } = await setUp()
    const data = { subscription, credential: 'crd_1' }
    const event = { type: 'CredentialRevoked', data } as const
    expect(await dataFor('acme', consumer, event)).toEqual(data)
    expect(await dataFor('acme', other, event)).toBeNull()
    expect(await dataFor('rival', consumer, event)).toBeNull()
  })

  it('about an API is for its subscribers, and names only the subscriptions of the reader', async () => {
    const { consumer, other, api, subscription, dataFor } = await setUp()
    const data = { api, successor: null, subscriptions: [subscription, 'sub_of_another'] }
    const event = { type: 'VersionSunset', data } as const
    expect(await dataFor('acme', consumer, event)).toEqual({ ...data, subscriptions: [subscription] })
    expect(await dataFor('acme', other, event)).toBeNull()
  })

  it('about the operation of an API is for the provider alone', async () => {
    const { consumer, api, dataFor } = await setUp()
    for (const type of ['DesignDrift', 'UpstreamHealthIssue'] as const) {
      expect(await dataFor('acme', consumer, { type, data: { api } })).toBeNull()
    }
  })
})
