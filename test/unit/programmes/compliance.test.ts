import { describe, expect, it, onTestFinished } from 'vitest'
import { apiWrite } from '../../../src/publishing/apis.ts'
import { ownDocument } from '../../../src/platform/openapi.ts'
import { createCompliance, type ComplianceBody } from '../../../src/programmes/compliance.ts'
import { createTurns } from '../../../src/command/keyed-mutex.ts'
import { createLinter } from '../../../src/governance/lint/linter.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { ACME, base64, furnish, openHouse, orders, type House } from '../../fixtures/test-catalogue.ts'

function open({ registry }: House, log: (message: string) => void = () => {}, ownDeadlineMs = 100_000) {
  const low: string[] = []
  const linter = createLinter({ clock: systemClock, log: { error: () => {} } })
  const compliance = createCompliance({
    registry,
    linter,
    ownDeadlineMs,
    clock: systemClock,
    turns: createTurns(),
    log: { error: (_, message) => log(message) },
    onLow: async (tenant, api, score) => void low.push(`${tenant} ${api} ${score < 70 ? 'critical' : 'low'}`),
  })
  onTestFinished(() => compliance.stop())
  return { ...compliance, low }
}

const scoreOf = async (house: House) => (await house.apis.get('acme', 'orders-v1')).complianceScore

/** The feed tells of changes in its own time. */
async function scored(house: House, before: number | null): Promise<number> {
  for (;;) {
    const score = await scoreOf(house)
    if (score !== null && score !== before) return score
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('scores what serves at the start, once', async () => {
  const house = openHouse()
  await furnish(house)
  expect(await scoreOf(house)).toBeNull()
  const first = open(house)
  await first.start()
  const score = await scoreOf(house)
  expect(score).toBeGreaterThan(0)
  expect(first.low).toHaveLength((score ?? 0) < 90 ? 1 : 0)

  const second = open(house)
  await second.start()
  expect(second.low).toEqual([])
  const kept = await house.registry.list<ComplianceBody>('compliance', { tenant: 'acme', limit: 10 })
  expect(kept).toMatchObject([{ body: { api: 'orders-v1', score, revision: 1 } }])
})

it('scores every activation, keeps the history, and shows the score of what serves', async () => {
  const house = openHouse()
  const { proxy } = await furnish(house)
  const { start } = open(house)
  await start()
  const before = await scoreOf(house)

  const worse = orders({ version: '1.3.0' }).toString()
  const document = JSON.parse(worse) as { servers?: unknown; info: { description?: string } }
  document.servers = [{ url: 'http://orders.example' }]
  await house.proxies.stage(ACME, { api: 'orders-v1', specification: base64(Buffer.from(JSON.stringify(document))) })
  expect(await scoreOf(house)).toBe(before)
  await house.proxies.activate(ACME, proxy)
  const after = await scored(house, before)

  expect(after).toBeLessThan(before ?? 0)
  expect(await house.registry.list('compliance', { tenant: 'acme', limit: 10 })).toHaveLength(2)
  await house.proxies.stage(ACME, { api: 'orders-v1', fromRevision: 1 })
  await house.proxies.activate(ACME, proxy)
  expect(await scored(house, after)).toBe(before)
})

describe('platform-v1', () => {
  const entry = {
    title: 'Platform',
    major: 1,
    version: '1.0.0',
    state: 'Active',
    owner: 'system',
    complianceScore: null,
    programme: null,
    retirementDate: null,
    successor: null,
    ownScopes: [],
  } as const
  const shown = async ({ apis }: House) => (await apis.get('acme', 'platform-v1')).complianceScore

  it('is scored by the rules that every document is held to, once for each document', { timeout: 60_000 }, async () => {
    const house = openHouse()
    await house.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, entry)])
    const { scoreOwn } = open(house)
    await scoreOwn('platform-v1', ownDocument())
    expect(await shown(house)).toBe(100)
    await open(house).scoreOwn('platform-v1', ownDocument())
    await open(house).scoreOwn('platform-v1', orders())
    expect(await shown(house)).toBeLessThan(100)
    const kept = await house.registry.list<ComplianceBody>('compliance', { tenant: 'acme', limit: 10 })
    expect(kept.map(({ body }) => [body.api, body.revision])).toEqual([
      ['platform-v1', 0],
      ['platform-v1', 0],
    ])
  })

  it('keeps no score of a judgement that was not finished', async () => {
    const house = openHouse()
    await house.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, entry)])
    const logged: string[] = []
    const { scoreOwn } = open(house, (message) => logged.push(message), 1)
    await scoreOwn('platform-v1', ownDocument())
    expect(await shown(house)).toBeNull()
    expect(logged).toEqual(['the API could not be scored; it is scored at the next start'])
  })
})
