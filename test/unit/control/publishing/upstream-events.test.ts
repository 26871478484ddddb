import { describe, expect, it } from 'vitest'
import {
  createUpstreamEvents,
  retryUpstreamEvents,
  type UpstreamIssue,
} from '../../../../src/control/publishing/upstream-events.ts'
import { severityOf } from '../../../../src/boundary/plan/upstream-state.ts'
import { createIdFactory } from '../../../../src/foundation/runtime/ids.ts'
import { RevisionConflict, type Registry } from '../../../../src/storage/store/registry.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import type { UpstreamEvent, UpstreamReport, UpstreamReports } from '../../../../src/storage/store/upstream-reports.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock, settled } from '../../../fixtures/fake-clock.ts'

function open(upstreams: UpstreamReports | null) {
  const clock = createFakeClock(START_MS)
  const published: unknown[] = []
  const node = { fault: null as Error | null, failures: [] as unknown[] }
  const registry: Pick<Registry, 'commit'> = {
    async commit(_, __, writes) {
      if (node.fault !== null) throw node.fault
      published.push(...writes.map(({ body }) => body))
    },
  }
  const events = createUpstreamEvents({
    registry,
    createId: createIdFactory(clock.nowMs),
    clock,
    monotonicMs: clock.nowMs,
    shared: upstreams === null ? null : { upstreams, incarnation: 'here' },
    onFailed: (cause) => void node.failures.push(cause),
  })
  return { ...events, published, node, clock, events }
}

const issue = (state: UpstreamIssue['state'], more: Partial<UpstreamIssue> = {}): UpstreamIssue => ({
  tenant: 'acme',
  api: 'ledger-v1',
  from: 'healthy',
  to: state,
  state,
  severity: severityOf(state),
  ok: 3,
  failed: 7,
  failing: [],
  ...more,
})

describe('The event of a failing backend', () => {
  it('is published for each issue of a single node, and not for a recovery', async () => {
    const { raise, published } = open(null)
    for (const state of ['degraded', 'unhealthy', 'recovering', 'healthy'] as const) await raise(issue(state))
    expect(published).toMatchObject([
      { type: 'UpstreamHealthIssue', data: { api: 'ledger-v1', state: 'degraded', calls: 10, failed: 7 } },
      { type: 'UpstreamHealthIssue', data: { state: 'unhealthy' } },
    ])
  })

  it('names the targets that fail, if there are several', async () => {
    const { raise, published } = open(null)
    await raise(issue('degraded', { failing: ['http://a'] }))
    await raise(issue('degraded'))
    const [several, single] = published as { data: object }[]
    expect(several).toMatchObject({ data: { state: 'degraded', targets: ['http://a'] } })
    expect(single!.data).not.toHaveProperty('targets')
  })

  it('is not published when some of several targets, which were all down, are healthy again', async () => {
    const { raise, published } = open(null)
    await raise(issue('degraded', { from: 'recovering', to: 'healthy', severity: 2 }))
    await raise(issue('degraded', { from: 'recovering', to: 'degraded', severity: 3 }))
    await raise(issue('recovering', { from: 'recovering', to: 'unhealthy', severity: 2 }))
    expect(published).toEqual([])
  })

  it('is published for the next target that fails, though the state of the API stays the same', async () => {
    const { raise, published } = open(null)
    await raise(issue('degraded', { to: 'unhealthy', severity: 2, failing: ['http://a'] }))
    await raise(issue('degraded', { to: 'degraded', severity: 3, failing: ['http://a', 'http://b'] }))
    await raise(
      issue('degraded', { from: 'degraded', to: 'unhealthy', severity: 4, failing: ['http://a', 'http://b'] }),
    )
    const targets = (published as { data: { targets: string[] } }[]).map(({ data }) => data.targets.length)
    expect(targets).toEqual([1, 2, 2])
  })

  it('is published by one of several nodes; all report their changes in order', async () => {
    const { upstreams, reported, published } = openUpstreams()
    upstreams.isMissing = ({ state }) => state === 'unhealthy'
    const { raise } = open(upstreams)
    await Promise.all((['degraded', 'unhealthy', 'healthy'] as const).map((state) => raise(issue(state))))
    expect(reported).toEqual(['degraded 1, pending 1', 'unhealthy 2, pending 2', 'healthy, pending 0'])
    expect(published).toEqual(['unhealthy'])
  })
})

function openUpstreams() {
  const [reported, published, delays]: [string[], string[], (number | null)[]] = [[], [], []]
  const upstreams = {
    fault: null as { readonly report?: Error; readonly publish?: Error } | null,
    isMissing: (_: UpstreamReport): boolean => true,
    async report(_node: string, _api: string, report: UpstreamReport | null, pending: number) {
      await settled()
      if (upstreams.fault?.report !== undefined) throw upstreams.fault.report
      reported.push(`${report === null ? 'healthy' : `${report.state} ${report.severity}`}, pending ${pending}`)
      return pending > 0 && (report === null || upstreams.isMissing(report))
    },
    async publish(_node: string, { commit, delayedMs }: UpstreamEvent) {
      if (upstreams.fault?.publish !== undefined) throw upstreams.fault.publish
      published.push(...commit.writes.map(({ body }) => (body as { data: { state: string } }).data.state))
      delays.push(delayedMs)
    },
    restate: async () => {},
    list: async () => [],
  }
  return { upstreams, reported, published, delays }
}

const AWAY = new StoreUnwritable('PostgreSQL is away')

describe('The event of a failing backend that the store does not accept', () => {
  it('is published once by a single node when the store accepts it', async () => {
    const { raise, retry, isPending, published, node } = open(null)
    node.fault = AWAY
    const raised = raise(issue('unhealthy'))
    expect(isPending('ledger-v1')).toBe(true)
    await raised
    await retry()
    expect([published, node.failures, isPending('ledger-v1')]).toEqual([[], [AWAY, AWAY], true])
    node.fault = null
    await retry()
    await retry()
    expect(published).toMatchObject([{ data: { state: 'unhealthy' } }])
    expect(isPending('ledger-v1')).toBe(false)
  })

  it('is tried again by a single node every ten seconds, until it stops', async () => {
    const { raise, published, node, clock, events } = open(null)
    const stop = retryUpstreamEvents(events, clock)
    node.fault = AWAY
    await raise(issue('unhealthy'))
    await clock.advance(20_000)
    expect(node.failures).toHaveLength(3)
    node.fault = null
    await clock.advance(10_000)
    expect(published).toHaveLength(1)
    await stop()
    expect(clock.pending).toBe(0)
  })

  it('is not published again if the answer to its commit was lost', async () => {
    const { raise, retry, isPending, published, node } = open(null)
    node.fault = AWAY
    await raise(issue('unhealthy'))
    node.fault = new RevisionConflict('the event exists')
    await retry()
    expect([published, isPending('ledger-v1')]).toEqual([[], false])
  })

  it.each(['report', 'publish'] as const)('is published later if %s fails, with its delay', async (step) => {
    const { upstreams, published, delays } = openUpstreams()
    const { raise, retry, clock } = open(upstreams)
    upstreams.fault = { [step]: AWAY }
    await raise(issue('unhealthy'))
    await clock.advance(7_000)
    await retry()
    upstreams.fault = null
    await clock.advance(3_000)
    await retry()
    await retry()
    expect([published, delays]).toEqual([['unhealthy'], [10_000]])
  })

  it('is published though the backend has recovered meanwhile, and is reported as healthy', async () => {
    const { upstreams, published, reported } = openUpstreams()
    const { raise, retry } = open(upstreams)
    upstreams.fault = { report: AWAY }
    await raise(issue('unhealthy'))
    await raise(issue('healthy', { from: 'unhealthy' }))
    upstreams.fault = null
    await retry()
    expect([published, reported]).toEqual([['unhealthy'], ['healthy, pending 2']])
  })

  it('is the most severe of several failures', async () => {
    const { upstreams, published } = openUpstreams()
    const { raise, retry } = open(upstreams)
    upstreams.fault = { report: AWAY }
    for (const state of ['degraded', 'unhealthy', 'healthy', 'degraded'] as const) await raise(issue(state))
    upstreams.fault = null
    await retry()
    expect(published).toEqual(['unhealthy'])
  })

  it('ends the attempts for other APIs only if the store is away', async () => {
    const { raise, retry, node } = open(null)
    node.fault = new Error('a bug')
    for (const api of ['a-v1', 'b-v1']) await raise(issue('unhealthy', { api }))
    await retry()
    expect(node.failures).toHaveLength(4)
    node.fault = AWAY
    await retry()
    expect(node.failures).toHaveLength(5)
  })
})
