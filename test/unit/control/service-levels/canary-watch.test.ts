/** Canaries are compared with the active revisions of their APIs once a minute, and those that fail are noted. */

import { describe, expect, it, onTestFinished } from 'vitest'
import type { Author } from '../../../../src/storage/store/registry.ts'
import { createCanaryWatch } from '../../../../src/control/service-levels/canary-watch.ts'
import type { RevisionMeasure, RevisionsQuery } from '../../../../src/storage/store/service-level-store.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { ACME, base64, openTestCatalogue, orders, publishApi, RIVAL } from '../../../fixtures/test-catalogue.ts'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2027, 0, 15, 12)
const API = 'orders-v1'

interface Calls {
  readonly minute: number
  readonly tenant: string
  readonly api: string
  readonly revision: number
  readonly calls: number
  readonly failed: number
}

async function openCanary(author: Author = ACME) {
  const catalogue = openTestCatalogue()
  const { proxy } = await publishApi(catalogue, author)
  const stage = (version: string) =>
    catalogue.proxies.stage(author, { api: API, specification: base64(orders({ version })) })
  await stage('1.3.0')
  const clock = createFakeClock(START_MS)
  const rows: Calls[] = []
  const queries: RevisionsQuery[] = []
  const noted: string[] = []
  const counted: string[] = []
  const logged: string[] = []
  const fails = { levels: false, note: false, list: false }
  /** As the store: minutes that begin in the range, by revision. */
  async function revisions(query: RevisionsQuery): Promise<readonly RevisionMeasure[]> {
    queries.push(query)
    if (fails.levels) throw new Error('the store is away')
    const inRange = rows.filter(({ minute, tenant, api }) => {
      const atMs = START_MS + minute * MINUTE_MS
      return tenant === query.tenant && api === query.api && atMs >= query.fromMs && atMs < query.toMs
    })
    return [...Map.groupBy(inRange, ({ revision }) => revision)].map(([revision, of]) => ({
      revision,
      calls: of.reduce((sum, { calls }) => sum + calls, 0),
      unanswered: 0,
      errors: of.reduce((sum, { failed }) => sum + failed, 0),
      successes: 0,
      latencyUs: 0,
      latency: new Map(),
    }))
  }
  const watch = createCanaryWatch({
    registry: {
      list: async (kind, query) => {
        if (fails.list) throw new Error('the registry is away')
        return catalogue.registry.list(kind, query)
      },
    },
    levels: { revisions },
    async note(tenant, api, which) {
      if (fails.note) throw new Error('the spool is full')
      noted.push(`${(clock.nowMs() - START_MS) / MINUTE_MS} ${tenant} ${api}: ${which}`)
    },
    clock,
    log: {
      warn: (_: unknown, text: string) => logged.push(text),
      info: (_: unknown, text: string) => logged.push(text),
    } as never,
    count: (reason) => counted.push(reason),
  })
  onTestFinished(() => watch.stop())
  await watch.start()
  /** Advances to the next comparison, after calls of both revisions in the minute that runs. */
  async function minute(
    failedOfCanary: number,
    failedOfActive = 0,
    of: Partial<Calls> = {},
    ofActive = of,
  ): Promise<void> {
    const at = Math.floor((clock.nowMs() - START_MS) / MINUTE_MS)
    const usual = { minute: at, tenant: author.tenant, api: API, calls: 100 }
    rows.push({ ...usual, revision: 2, failed: failedOfCanary, ...of })
    rows.push({ ...usual, revision: 1, failed: failedOfActive, ...ofActive })
    const before = queries.length
    await clock.advance(MINUTE_MS)
    // The registry answers in later turns of the event loop.
    if (!fails.list) await expect.poll(() => queries.length).toBeGreaterThanOrEqual(before + Number(isRunning))
    await new Promise(setImmediate)
  }
  let isRunning = false
  const { proxies } = catalogue
  return {
    catalogue,
    clock,
    queries,
    noted,
    counted,
    logged,
    fails,
    minute,
    stage,
    watch,
    async begin(input: { percent: number } | undefined = { percent: 10 }) {
      await proxies.activate(author, proxy, input)
      isRunning = true
    },
    async end(command: 'activate' | 'discard') {
      await proxies[command](author, proxy)
      isRunning = false
    },
  }
}

const WHICH = 'revision 2 of orders-v1, compared with revision 1'

describe('A canary that fails', () => {
  it('is noted once a minute with both revisions, until it has recovered', async () => {
    const { begin, minute, noted, logged, counted } = await openCanary()
    await begin()
    for (const failed of [0, 30, 40, 0, 0, 0, 0, 0, 0]) await minute(failed)
    // The last comparison that fails has 40 of 400 calls.
    expect(noted).toEqual([2, 3, 4, 5, 6].map((at) => `${at} acme orders-v1: ${WHICH}`))
    expect(logged).toEqual(['a canary fails more often than the active revision', 'a canary does not fail any more'])
    expect(counted).toEqual([])
  })

  it.each(['activate', 'discard'] as const)('is not noted any more after %s', async (command) => {
    const { begin, minute, noted, end, queries } = await openCanary()
    await begin()
    await minute(50)
    expect(noted).toHaveLength(1)
    await end(command)
    const asked = queries.length
    await minute(50)
    await minute(50)
    expect([noted.length, queries.length]).toEqual([1, asked])
  })

  it('is noted for its tenant, whatever the numbers of other tenants and APIs are', async () => {
    const { begin, minute, noted, queries } = await openCanary(RIVAL)
    await begin()
    await minute(100, 0, { tenant: 'acme' })
    await minute(100, 0, { api: 'other-v1' })
    expect(noted).toEqual([])
    expect(new Set(queries.map(({ tenant, api }) => `${tenant} ${api}`))).toEqual(
      new Set([`${RIVAL.tenant} orders-v1`]),
    )
    await minute(100)
    expect(noted).toEqual([`3 ${RIVAL.tenant} orders-v1: ${WHICH}`])
  })

  it('is compared again, as before, after the store or the spool was away', async () => {
    const { begin, minute, noted, counted, fails, logged } = await openCanary()
    await begin()
    await minute(50)
    fails.levels = true
    await minute(50)
    fails.levels = false
    fails.note = true
    await minute(50)
    fails.note = false
    fails.list = true
    await minute(50)
    fails.list = false
    await minute(50)
    expect(noted.map((each) => each.split(' ')[0])).toEqual(['1', '5'])
    expect(counted).toEqual(['canary_not_judged', 'canary_not_judged', 'canary_not_judged'])
    expect(logged.filter((text) => text.includes('fails more often'))).toHaveLength(1)
  })
})

describe('A comparison', () => {
  it('covers the minute that runs and the four before it', async () => {
    const { begin, minute, queries, clock } = await openCanary()
    await begin()
    await clock.advance(20_000)
    await minute(0)
    const { fromMs, toMs } = queries.at(-1)!
    expect([fromMs - START_MS, toMs - START_MS]).toEqual([-3 * MINUTE_MS, MINUTE_MS])
  })

  it('uses the last hour of an active revision that was called seldom', async () => {
    const { begin, minute, noted, queries } = await openCanary()
    await begin()
    await minute(0, 40)
    for (let quiet = 0; quiet < 5; quiet++) await minute(0, 0, { calls: 0 })
    // It fails as the active revision did.
    await minute(40, 0, {}, { calls: 0 })
    expect(noted).toEqual([])
    expect(queries.at(-1)!.toMs - queries.at(-1)!.fromMs).toBe(59 * MINUTE_MS)
  })

  it('is not made for revisions that are staged or active only', async () => {
    const { begin, minute, queries, noted, end, stage } = await openCanary()
    await minute(50)
    await begin()
    await end('activate')
    await stage('1.4.0')
    await minute(50)
    expect([queries, noted]).toEqual([[], []])
  })

  it('is not made after a stop', async () => {
    const { begin, watch, clock, queries } = await openCanary()
    await begin()
    await watch.stop()
    await clock.advance(10 * MINUTE_MS)
    expect([queries, clock.pending]).toEqual([[], 0])
  })
})
