import { describe, expect, it, onTestFinished } from 'vitest'
import { apiWrite } from '../../../../src/control/publishing/apis.ts'
import { ownDocument } from '../../../../src/interfaces/platform/openapi.ts'
import { createApiComplianceReader } from '../../../../src/control/programmes/api-compliance.ts'
import { COMPLIANCE_KIND } from '../../../../src/control/programmes/compliance-score.ts'
import { createCompliance, ownSpecification } from '../../../../src/control/programmes/compliance.ts'
import { createKeyedMutex } from '../../../../src/control/command/keyed-mutex.ts'
import { createLinter } from '../../../../src/documents/governance/lint/linter.ts'
import { PROXY_KIND } from '../../../../src/control/publishing/proxy-document.ts'
import { systemClock, type Clock } from '../../../../src/foundation/runtime/clock.ts'
import type { Write } from '../../../../src/storage/store/registry.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createSharedLinter } from '../../../fixtures/shared-linter.ts'
import {
  ACME,
  base64,
  publishApi,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

function open(
  { registry }: TestCatalogue,
  log: (message: string) => void = () => {},
  ownDeadlineMs = 100_000,
  clock: Clock = systemClock,
  linter = createSharedLinter({ clock: systemClock, log: { error: () => {} } }),
) {
  const low: string[] = []
  const compliance = createCompliance({
    registry,
    linter,
    ownDeadlineMs,
    clock,
    mutex: createKeyedMutex(),
    log: { error: (_, message) => log(message) },
    onLow: async (tenant, api, score) => void low.push(`${tenant} ${api} ${score < 70 ? 'critical' : 'low'}`),
  })
  onTestFinished(() => compliance.stop())
  return { ...compliance, low }
}

/** With threads that end with it. */
function openWithThreads(catalogue: TestCatalogue, log: (message: string) => void) {
  return open(catalogue, log, undefined, undefined, createLinter({ clock: systemClock, log: { error: () => {} } }))
}

const scoreOf = async (catalogue: TestCatalogue) => (await catalogue.apis.get('acme', 'orders-v1')).complianceScore

/** Waits until the change feed has delivered the activation and the score has changed. */
async function scored(catalogue: TestCatalogue, before: number | null): Promise<number> {
  for (;;) {
    const score = await scoreOf(catalogue)
    if (score !== null && score !== before) return score
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('stores a score once if two nodes compute it at the same time, without an error', async () => {
  const catalogue = openTestCatalogue()
  await publishApi(catalogue)
  const errors: string[] = []
  const nodes = Array.from({ length: 2 }, () => openWithThreads(catalogue, (message) => errors.push(message)))
  await Promise.all(nodes.map((node) => node.start()))
  await scored(catalogue, null)
  await Promise.all(nodes.map((node) => node.stop()))
  expect(errors).toEqual([])
})

it.each([
  [
    'the change feed cannot be opened',
    'end',
    'active revisions could not be read; they are scored when a retry succeeds',
  ],
  ['a proxy cannot be read', 'get', 'active revision could not be scored; retrying'],
] as const)('scores the active revisions later if %s at first', async (_, method, message) => {
  const catalogue = openTestCatalogue()
  await publishApi(catalogue)
  const { registry } = catalogue
  const original = registry[method]
  registry[method] = async () => {
    registry[method] = original as never
    throw new StoreUnwritable('away')
  }
  const clock = createFakeClock(0)
  const errors: string[] = []
  const { start } = open(catalogue, (error) => errors.push(error), undefined, clock)
  await start()
  expect([errors, await scoreOf(catalogue)]).toEqual([[message], null])
  await clock.advance(5_000)
  expect(await scored(catalogue, null)).toBeGreaterThan(0)
})

it('scores each active revision at startup, once', async () => {
  const catalogue = openTestCatalogue()
  await publishApi(catalogue)
  expect(await scoreOf(catalogue)).toBeNull()
  const first = open(catalogue)
  await first.start()
  const score = await scoreOf(catalogue)
  expect(score).toBeGreaterThan(0)
  expect(first.low).toHaveLength((score ?? 0) < 90 ? 1 : 0)

  const second = open(catalogue)
  await second.start()
  expect(second.low).toEqual([])
  const stored = await catalogue.registry.list(COMPLIANCE_KIND, { tenant: 'acme', limit: 10 })
  expect(stored).toMatchObject([{ body: { api: 'orders-v1', score, revision: 1 } }])
})

it('is silent about the revision whose scoring a stop interrupts', async () => {
  const catalogue = openTestCatalogue()
  await publishApi(catalogue)
  const logged: string[] = []
  const compliance = openWithThreads(catalogue, (message) => logged.push(message))

  const starting = compliance.start()
  await new Promise((resolve) => setImmediate(resolve))
  await compliance.stop()
  await starting

  expect(logged).toEqual([])
  expect(await scoreOf(catalogue)).toBeNull()
})

it('scores every activation, stores the history, and shows the score of the active revision', async () => {
  const catalogue = openTestCatalogue()
  const { proxy } = await publishApi(catalogue)
  const { start } = open(catalogue)
  await start()
  const before = await scoreOf(catalogue)

  const worse = orders({ version: '1.3.0' }).toString()
  const document = JSON.parse(worse) as { servers?: unknown; info: { description?: string } }
  document.servers = [{ url: 'http://orders.example' }]
  await catalogue.proxies.stage(ACME, {
    api: 'orders-v1',
    specification: base64(Buffer.from(JSON.stringify(document))),
  })
  expect(await scoreOf(catalogue)).toBe(before)
  await catalogue.proxies.activate(ACME, proxy)
  const after = await scored(catalogue, before)

  expect(after).toBeLessThan(before ?? 0)
  expect(await catalogue.registry.list(COMPLIANCE_KIND, { tenant: 'acme', limit: 10 })).toHaveLength(2)
  await catalogue.proxies.stage(ACME, { api: 'orders-v1', fromRevision: 1 })
  await catalogue.proxies.activate(ACME, proxy)
  expect(await scored(catalogue, after)).toBe(before)

  const { specification, history } = await reader(catalogue).of('acme', 'orders-v1')
  expect(specification).toBe(before)
  expect(history.map(({ revision, score }) => [revision, score]).toSorted()).toEqual([
    [1, before],
    [2, after],
    [3, before],
  ])
})

it('raises a risk for each activation with a low score, also of a document that was activated before', async () => {
  const catalogue = openTestCatalogue()
  const worst = JSON.parse(orders().toString()) as { servers?: unknown }
  worst.servers = [{ url: 'http://orders.example' }]
  const staged = await catalogue.proxies.stage(ACME, {
    api: 'orders-v1',
    specification: base64(Buffer.from(JSON.stringify(worst))),
  })
  await catalogue.proxies.activate(ACME, staged.id)
  const { start, low } = open(catalogue)
  await start()
  expect(low).toHaveLength(1)
  await catalogue.proxies.stage(ACME, { api: 'orders-v1', fromRevision: 1 })
  await catalogue.proxies.activate(ACME, staged.id)
  await expect.poll(() => low.length).toBe(2)
})

it('shows the score of the document that serves, not of the one that was scored last', async () => {
  const catalogue = openTestCatalogue()
  const { proxy } = await publishApi(catalogue)
  const [document] = await catalogue.registry.list(PROXY_KIND, { tenant: 'acme', limit: 1 })
  const specification = document?.body.deployments['1']?.specification ?? ''
  await catalogue.registry.commit(ACME, 'test', [score(specification, 95, 1), score('oas_later', 60, 2)])
  await catalogue.proxies.stage(ACME, { api: 'orders-v1', fromRevision: 1 })
  await catalogue.proxies.activate(ACME, proxy)
  expect(await reader(catalogue).of('acme', 'orders-v1')).toMatchObject({ specification: 95, score: 95 })
})

const reader = ({ registry }: TestCatalogue) => createApiComplianceReader({ registry, clock: systemClock })

function score(specification: string, points: number, revision: number): Write {
  const scored = { score: points, byCategory: {}, costs: [], findings: [], scoredAtMs: revision }
  const body = { api: 'orders-v1', specification, revision, ...scored }
  return { kind: COMPLIANCE_KIND, id: specification, tenant: 'acme', expected: 0, body, keys: { api: 'orders-v1' } }
}

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
  const shown = async ({ apis }: TestCatalogue) => (await apis.get('acme', 'platform-v1')).complianceScore

  it('is scored by the built-in rules, once for each document', { timeout: 60_000 }, async () => {
    const catalogue = openTestCatalogue()
    await catalogue.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, entry)])
    const { scoreOwn } = open(catalogue)
    await scoreOwn('platform-v1', ownDocument())
    expect(await shown(catalogue)).toBe(100)
    await open(catalogue).scoreOwn('platform-v1', ownDocument())
    await open(catalogue).scoreOwn('platform-v1', orders())
    expect(await shown(catalogue)).toBeLessThan(100)
    const stored = await catalogue.registry.list(COMPLIANCE_KIND, { tenant: 'acme', limit: 10 })
    expect(stored.map(({ body }) => [body.api, body.revision])).toEqual([
      ['platform-v1', 0],
      ['platform-v1', 0],
    ])
  })

  it('gets the score that was computed when the service was built, and is not scored again', async () => {
    const catalogue = openTestCatalogue()
    await catalogue.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, entry)])
    const document = orders()
    const linter = createLinter({ clock: systemClock, log: { error: () => {} } })
    const report = { ...(await linter.lint(document)), score: 97 }
    await linter.close()
    const logged: string[] = []
    // A lint run would exceed this deadline, which would be logged.
    const { storeOwn, scoreOwn } = open(catalogue, (message) => logged.push(message), 0)
    await storeOwn('platform-v1', { specification: ownSpecification(document), report })
    expect(await shown(catalogue)).toBe(97)
    await scoreOwn('platform-v1', document)
    expect([await shown(catalogue), logged]).toEqual([97, []])
    await scoreOwn('platform-v1', ownDocument())
    expect(logged).toEqual(['platform API could not be scored; retrying at the next start'])
  })

  it('gets no score from a lint run that was aborted', async () => {
    const catalogue = openTestCatalogue()
    await catalogue.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, entry)])
    const logged: string[] = []
    const { scoreOwn } = open(catalogue, (message) => logged.push(message), 1)
    await scoreOwn('platform-v1', ownDocument())
    expect(await shown(catalogue)).toBeNull()
    expect(logged).toEqual(['platform API could not be scored; retrying at the next start'])
  })

  it('is scored later if its score cannot be stored at first', async () => {
    const catalogue = openTestCatalogue()
    const { registry } = catalogue
    await registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, entry)])
    const { commit } = registry
    registry.commit = async () => {
      registry.commit = commit
      throw new StoreUnwritable('full')
    }
    const clock = createFakeClock(0)
    const { scoreOwn } = open(catalogue, undefined, undefined, clock)
    await scoreOwn('platform-v1', orders())
    expect(await shown(catalogue)).toBeNull()
    await clock.advance(5_000)
    await expect.poll(() => shown(catalogue)).toBeGreaterThan(0)
  })
})
