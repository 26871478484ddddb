import { describe, expect, it } from 'vitest'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

const PATH = '/v1/attention'
const PARTS = ['risks:read', 'apis:read', 'approvals:read', 'eventsubscriptions:read', 'credentials:read']

function addRisks({ risks }: TestPlatform, consumer: string): void {
  const attributedTo = { kind: 'consumer', id: consumer, name: 'Shop' } as const
  for (const changes of [{}, { severity: 'Critical' }, { type: 'ApproachingLimit' }] as const)
    risks.positions.push({ event: riskEvent({ attributedTo, ...changes }), state: 'open' })
}

async function kindsFor(platform: TestPlatform, scopes: readonly string[], tenant = 'acme'): Promise<string[]> {
  const { status, body } = await platform.send('GET', PATH, { token: platform.token(tenant, scopes) })
  expect(status).toBe(200)
  return (body['items'] as { kind: string; severity: string }[]).map(({ kind, severity }) => `${kind} ${severity}`)
}

describe('GET /v1/attention', () => {
  it('lists each part only for a caller that may read its resources, the most severe first', async () => {
    const platform = await openTestPlatform()
    addRisks(platform, 'con_1')
    platform.upstreamIssues = async (tenant) => (tenant === 'acme' ? [{ api: 'pay-v1', state: 'unhealthy' }] : [])
    const all = ['risk Critical', 'backend Critical', 'risk Warning', 'limit Warning']
    expect(await kindsFor(platform, ['attention:read', ...PARTS])).toEqual(all)
    expect(await kindsFor(platform, ['attention:read', 'apis:read'])).toEqual(['backend Critical'])
    expect(await kindsFor(platform, ['attention:read', 'risks:read:own'])).toEqual([])
    expect(await kindsFor(platform, ['attention:read'])).toEqual([])
    expect(await kindsFor(platform, ['attention:read', ...PARTS], 'rival')).toEqual([])
    const refused = await platform.send('GET', PATH, { token: platform.token('acme', PARTS) })
    expect(refused).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
  })

  it('has, with the own width, the parts of the consumer that each scope covers', async () => {
    const platform = await openTestPlatform()
    addRisks(platform, 'con_1')
    addRisks(platform, 'con_2')
    platform.upstreamIssues = async () => [{ api: 'pay-v1', state: 'unhealthy' }]
    const send = async (scopes: readonly string[]) => {
      const token = platform.token('acme', scopes, undefined, { consumer: 'con_1' })
      return (await platform.send('GET', PATH, { token })).body['items'] as { count: number }[]
    }
    const own = await send(['attention:read:own', ...PARTS.map((scope) => `${scope}:own`)])
    expect(own.map(({ count }) => count)).toEqual([1, 1, 1])
    expect(JSON.stringify(own)).not.toContain('pay-v1')
    expect(await send(['attention:read:own'])).toEqual([])
  })

  it('pages, and refuses what it does not know', async () => {
    const platform = await openTestPlatform()
    addRisks(platform, 'con_1')
    const token = platform.token('acme')
    const first = await platform.send('GET', `${PATH}?limit=1`, { token })
    expect(first.body['items']).toHaveLength(1)
    const next = await platform.send('GET', `${PATH}?limit=9&cursor=${String(first.body['next'])}`, { token })
    expect(next.body['items']).toHaveLength(2)
    for (const query of ['tenant=rival', 'limit=0', 'limit=501', 'cursor=x', `cursor=${'A'.repeat(6_000)}`])
      expect((await platform.send('GET', `${PATH}?${query}`, { token })).status).toBe(400)
  })
})
