/** The event of a backend that fails for several nodes, while connections and nodes are lost. */

// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { eventWrite } from '../../../src/control/command/event-outbox.ts'
import { createUpstreamEvents, type UpstreamIssue } from '../../../src/control/publishing/upstream-events.ts'
import { toReport } from '../../../src/control/publishing/shared-upstreams.ts'
import { severityOf } from '../../../src/boundary/plan/upstream-state.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { createIdFactory } from '../../../src/foundation/runtime/ids.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'

const server = usePostgres()

const createId = createIdFactory(() => Date.now())

/** A node whose process runs. `time` advances its monotonic clock. */
async function join(url: string, name: string) {
  const postgres = await openTestPostgres(url, { nodeName: name })
  await postgres.nodes.register({ incarnation: name, name, version: '1', format: 1, settings: {} })
  return { ...postgres, ...watch(postgres, name), name }
}

function watch({ registry, upstreams }: Postgres, incarnation: string) {
  const failures: unknown[] = []
  const time = { ms: 0 }
  const events = createUpstreamEvents({
    registry,
    createId,
    clock: systemClock,
    monotonicMs: () => time.ms,
    shared: { upstreams, incarnation },
    onFailed: (cause) => void failures.push(cause),
  })
  return { ...events, failures, time }
}

/** Two nodes, the first one behind a proxy. */
async function openNodes() {
  const url = await server.createDatabase()
  const { proxy, url: proxied } = await openBehindProxy(url)
  return { url, proxy, a: await join(proxied, 'a'), b: await join(url, 'b') }
}

const issue = (to: UpstreamIssue['state'], from: UpstreamIssue['state'] = 'healthy'): UpstreamIssue => ({
  ...{ tenant: 'acme', api: 'ledger-v1', state: to, severity: severityOf(to), from, to },
  ...{ ok: 3, failed: 7, failing: [] },
})

/** Returns the state of the API in each event. */
async function publishedIn(url: string): Promise<readonly unknown[]> {
  const { rows } = await executeSql(
    url,
    `SELECT body::json #>> '{data,state}' AS state FROM document WHERE kind = 'event' ORDER BY id`,
  )
  return rows.map(({ state }) => state)
}

const restated = ({ name, isPending }: Awaited<ReturnType<typeof join>>) => [
  { ...toReport(issue('unhealthy'))!, isPending: isPending('ledger-v1'), name },
]

describe('The event of a backend that fails for several nodes', () => {
  it('is published by another node if the first one fails between its report and the event', async () => {
    const { url, proxy, a, b } = await openNodes()
    proxy.judge((direction, data) => (direction === 'up' && data.includes('INSERT INTO change') ? 'cut' : 'pass'))
    await a.raise(issue('unhealthy'))
    expect([a.failures.length, await publishedIn(url)]).toEqual([1, []])
    await b.raise(issue('unhealthy'))
    proxy.judge(null)
    await a.retry()
    expect([a.isPending('ledger-v1'), await publishedIn(url)]).toEqual([false, ['unhealthy']])
  })

  it('is published by the first node later if no other one notices the failure', async () => {
    const { url, proxy, a } = await openNodes()
    proxy.judge((direction, data) => (direction === 'up' && data.includes('INSERT INTO change') ? 'cut' : 'pass'))
    await a.raise(issue('unhealthy'))
    proxy.judge(null)
    await a.upstreams.restate('a', restated(a))
    await a.retry()
    await a.retry()
    expect(await publishedIn(url)).toEqual(['unhealthy'])
  })

  it('is published if it could not be reported, also if the report is stated again before', async () => {
    const { url, proxy, a, b } = await openNodes()
    proxy.refuse(true)
    proxy.cut()
    await a.raise(issue('unhealthy'))
    proxy.refuse(false)
    await expect
      .poll(() =>
        a.upstreams.restate('a', restated(a)).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    await b.raise(issue('unhealthy'))
    await a.retry()
    expect([a.failures.length, await publishedIn(url)]).toEqual([1, ['unhealthy']])
  })

  it('is published by a node that notices the failure after the first one was killed before the event', async () => {
    const { url, a, b } = await openNodes()
    expect(await a.upstreams.report('a', 'ledger-v1', toReport(issue('unhealthy')), 2)).toBe(true)
    await b.raise(issue('unhealthy'))
    expect(await publishedIn(url)).toEqual(['unhealthy'])
  })

  it('is not published again if the answer to its commit was lost', async () => {
    const { url, proxy, a } = await openNodes()
    proxy.judge((direction, data) => {
      if (direction !== 'up' || !data.includes('NOTIFY tollgate_change')) return 'pass'
      proxy.refuse(true)
      return 'cut-after'
    })
    await a.raise(issue('unhealthy'))
    await expect.poll(() => publishedIn(url)).toEqual(['unhealthy'])
    proxy.judge(null)
    proxy.refuse(false)
    a.time.ms += 10_000
    await expect.poll(() => a.retry().then(() => a.isPending('ledger-v1'))).toBe(false)
    expect([a.failures.length > 0, await publishedIn(url)]).toEqual([true, ['unhealthy']])
  })

  it('is not published by a node that was cut off, though the backend has recovered for the others', async () => {
    const { url, proxy, a, b } = await openNodes()
    proxy.refuse(true)
    proxy.cut()
    await a.raise(issue('unhealthy'))
    await b.raise(issue('unhealthy'))
    await b.raise(issue('healthy', 'unhealthy'))
    await a.raise(issue('healthy', 'unhealthy'))
    proxy.refuse(false)
    await expect.poll(() => a.retry().then(() => a.isPending('ledger-v1'))).toBe(false)
    expect(await publishedIn(url)).toEqual(['unhealthy'])
  })

  it('is published by a node that was cut off if the last event is that of an earlier failure', async () => {
    const { url, proxy, a, b } = await openNodes()
    await b.raise(issue('unhealthy'))
    await b.raise(issue('healthy', 'unhealthy'))
    await executeSql(url, `UPDATE upstream_event SET published_at = published_at - interval '2 minutes'`)
    proxy.refuse(true)
    proxy.cut()
    await a.raise(issue('unhealthy'))
    a.time.ms += 60_000
    proxy.refuse(false)
    await expect.poll(() => a.retry().then(() => a.isPending('ledger-v1'))).toBe(false)
    expect(await publishedIn(url)).toEqual(['unhealthy', 'unhealthy'])
  })

  it('is published once by nodes that notice the failure at once, and by the one that outlives the other', async () => {
    const url = await server.createDatabase()
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => join(url, name)))
    await Promise.all(nodes.map((node) => node.raise(issue('unhealthy'))))
    expect(await publishedIn(url)).toEqual(['unhealthy'])
    await executeSql(url, `UPDATE node SET heard_at = heard_at - interval '1 minute' WHERE name IN ('a', 'b')`)
    await nodes[2]!.raise(issue('degraded', 'unhealthy'))
    expect(await publishedIn(url)).toEqual(['unhealthy'])
  })

  it('is not published by a node that had reported the failure when the first one, which has recovered, published it', async () => {
    const { url, a, b } = await openNodes()
    expect(await b.upstreams.report('b', 'ledger-v1', toReport(issue('unhealthy')), 2)).toBe(true)
    await a.raise(issue('unhealthy'))
    await a.raise(issue('healthy', 'unhealthy'))
    const author = { tenant: 'acme', consumer: 'system' }
    const writes = [eventWrite(createId, 'acme', 'UpstreamHealthIssue', {})]
    const commit = { author, action: 'upstream.issue', writes }
    await b.upstreams.publish('b', { api: 'ledger-v1', severity: 2, commit, delayedMs: null })
    expect(await publishedIn(url)).toEqual(['unhealthy'])
  })

  it('is left to a node of an earlier version that has reported the failure', async () => {
    const url = await server.createDatabase()
    const [a, old] = [await join(url, 'a'), await join(url, 'old')]
    await executeSql(
      url,
      `INSERT INTO upstream_report VALUES ('ledger-v1', 'old', 2, clock_timestamp(), 'acme', 'unhealthy')`,
    )
    await a.raise(issue('unhealthy'))
    expect(await publishedIn(url)).toEqual([])
    await old.nodes.leave()
    await a.raise(issue('unhealthy'))
    expect(await publishedIn(url)).toEqual(['unhealthy'])
  })
})
