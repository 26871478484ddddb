// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { eventWrite } from '../../../src/control/command/event-outbox.ts'
import { createIdFactory } from '../../../src/foundation/runtime/ids.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import type { OwnUpstreamReport, UpstreamReport } from '../../../src/storage/store/upstream-reports.ts'
import type { Commit } from '../../../src/storage/store/registry.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { AUTHOR } from './registry-contract-helpers.ts'

const server = usePostgres()

/** A node whose process runs. */
async function join(url: string, name: string): Promise<Postgres> {
  const postgres = await openTestPostgres(url, { nodeName: name })
  await postgres.nodes.register({ incarnation: name, name, version: '1', format: 1, settings: {} })
  return postgres
}

const STATES = ['healthy', 'degraded', 'unhealthy'] as const

/** Severity 0: healthy. */
function failing(api: string, severity: 0 | 1 | 2, tenant = 'acme'): UpstreamReport | null {
  return severity === 0 ? null : { tenant, api, state: STATES[severity], severity }
}

const settledReport = (api: string, severity: 1 | 2): OwnUpstreamReport => ({
  ...failing(api, severity)!,
  isPending: false,
})

const RECOVERING: UpstreamReport = { tenant: 'acme', api: 'ledger-v1', state: 'recovering', severity: 0 }

/** Reports a backend that fails worse than before, and returns whether the node must publish the event. It is published then. */
async function isNews({ upstreams }: Postgres, node: string, report: UpstreamReport | null, api = 'ledger-v1') {
  const severity = report?.severity ?? 0
  if (!(await upstreams.report(node, api, report, severity))) return false
  await upstreams.publish(node, { api, severity, commit: eventCommit(api), delayedMs: null })
  return true
}

const createId = createIdFactory(() => Date.now())

function eventCommit(api: string): Commit {
  const writes = [eventWrite(createId, 'acme', 'UpstreamHealthIssue', { api })]
  return { author: AUTHOR, action: 'upstream.issue', writes }
}

/** As each node lists them for the tenant acme. */
async function listed(...nodes: readonly Postgres[]): Promise<readonly string[]> {
  const lists = await Promise.all(nodes.map(({ upstreams }) => upstreams.list('acme')))
  for (const list of lists) expect(list).toEqual(lists[0])
  return lists[0]!.map(({ api, state }) => `${api} ${state}`)
}

describe('Failing backends of several nodes', () => {
  it('are news for the first node, and for one for which they fail worse', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    expect(await isNews(a, 'a', failing('ledger-v1', 1))).toBe(true)
    expect(await isNews(b, 'b', failing('ledger-v1', 1))).toBe(false)
    expect(await isNews(b, 'b', failing('ledger-v1', 2))).toBe(true)
    expect(await isNews(a, 'a', failing('ledger-v1', 2))).toBe(false)
    expect(await isNews(a, 'a', failing('other-v1', 1), 'other-v1')).toBe(true)
  })

  it('are news again after they have recovered for all', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    expect(await isNews(a, 'a', failing('ledger-v1', 2))).toBe(true)
    expect(await isNews(b, 'b', failing('ledger-v1', 2))).toBe(false)
    expect(await isNews(a, 'a', failing('ledger-v1', 0))).toBe(false)
    expect(await isNews(a, 'a', failing('ledger-v1', 2))).toBe(false)
    expect(await isNews(a, 'a', failing('ledger-v1', 0))).toBe(false)
    expect(await isNews(b, 'b', failing('ledger-v1', 0))).toBe(false)
    expect(await isNews(b, 'b', failing('ledger-v1', 1))).toBe(true)
  })

  it('are forgotten with the process that reported them', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    expect(await isNews(a, 'a', failing('ledger-v1', 2))).toBe(true)
    await executeSql(url, `UPDATE node SET registered_at = now() + interval '1 second' WHERE name = 'a'`)
    expect(await isNews(b, 'b', failing('ledger-v1', 2))).toBe(true)
    await b.nodes.leave()
    expect(await isNews(a, 'a', failing('ledger-v1', 2))).toBe(true)
  })

  it('are listed by every node, for their tenant alone, while the node lives', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    await a.upstreams.report('a', 'ledger-v1', failing('ledger-v1', 2), 0)
    await b.upstreams.report('b', 'ledger-v1', RECOVERING, 0)
    await b.upstreams.report('b', 'other-v1', failing('other-v1', 1, 'rival'), 0)
    expect(await listed(a, b)).toEqual(['ledger-v1 unhealthy', 'ledger-v1 recovering'])
    expect(await a.upstreams.list('rival')).toMatchObject([{ api: 'other-v1', state: 'degraded' }])
    expect(await a.upstreams.list(`acme' OR true --`)).toEqual([])
    await executeSql(url, `UPDATE node SET heard_at = heard_at - interval '1 minute' WHERE name = 'a'`)
    expect(await listed(b)).toEqual(['ledger-v1 recovering'])
    await b.upstreams.report('b', 'ledger-v1', null, 0)
    expect(await listed(b)).toEqual([])
  })

  it('are replaced when a node states them again, without news, and as new as its process', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    await a.upstreams.report('a', 'gone-v1', failing('gone-v1', 2), 0)
    await b.upstreams.report('b', 'kept-v1', failing('kept-v1', 1), 0)
    await executeSql(url, `UPDATE node SET registered_at = now() WHERE name = 'a'`)
    await a.upstreams.restate('a', [settledReport('new-v1', 1), settledReport('late-v1', 2)])
    expect(await listed(a, b)).toEqual(['kept-v1 degraded', 'late-v1 unhealthy', 'new-v1 degraded'])
    expect(await isNews(b, 'b', failing('late-v1', 2), 'late-v1')).toBe(false)
    await a.upstreams.restate('a', [])
    expect(await listed(a, b)).toEqual(['kept-v1 degraded', 'late-v1 unhealthy'])
  })

  it('are not listed as an earlier version reports them', async () => {
    const url = await server.createDatabase()
    const a = await join(url, 'a')
    await executeSql(url, `INSERT INTO upstream_report VALUES ('ledger-v1', 'a', 2, clock_timestamp())`)
    expect(await listed(a)).toEqual([])
  })
})
