import { describe, expect, it } from 'vitest'
import { createUpstreamEvents, type UpstreamIssue } from '../../../src/publishing/upstream-events.ts'
import { severityOf } from '../../../src/plan/upstream-state.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import type { Registry } from '../../../src/store/registry.ts'
import type { UpstreamReports } from '../../../src/store/upstream-reports.ts'
import { START_MS } from '../../fixtures/calls.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'

function open(upstreams: UpstreamReports | null) {
  const clock = createFakeClock(START_MS)
  const published: unknown[] = []
  const registry: Pick<Registry, 'commit'> = {
    commit: async (_, __, writes) => void published.push(...writes.map(({ body }) => body)),
  }
  const shared = upstreams === null ? null : { upstreams, incarnation: 'here' }
  const raise = createUpstreamEvents({ registry, createId: createIdFactory(clock.nowMs), clock, shared })
  return { raise, published }
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

  it('is published once by two nodes that see the same targets fail', async () => {
    const severities = new Map<string, number>()
    const storeOf = (own: string): UpstreamReports => ({
      async report(_node, _api, report) {
        severities.set(own, report?.severity ?? 0)
        const others = [...severities].filter(([name]) => name !== own).map(([, severity]) => severity)
        return severities.get(own)! > Math.max(0, ...others)
      },
      restate: async () => {},
      list: async () => [],
    })
    const [one, other] = [open(storeOf('one')), open(storeOf('other'))]
    for (const severity of [2, 4]) {
      for (const { raise } of [one, other]) await raise(issue('degraded', { to: 'unhealthy', severity }))
    }
    expect([one.published.length, other.published.length]).toEqual([2, 0])
  })

  it('is published by one of several nodes; all report their changes in order', async () => {
    const reported: string[] = []
    const upstreams: UpstreamReports = {
      async report(node, api, report) {
        await new Promise((resolve) => setImmediate(resolve))
        reported.push(`${node} ${api} ${report === null ? 'healthy' : `${report.state} ${report.severity}`}`)
        return reported.length === 2
      },
      restate: async () => {},
      list: async () => [],
    }
    const { raise, published } = open(upstreams)
    await Promise.all((['degraded', 'unhealthy', 'healthy'] as const).map((state) => raise(issue(state))))
    const told = ['degraded 1', 'unhealthy 2', 'healthy']
    expect(reported).toEqual(told.map((report) => `here ledger-v1 ${report}`))
    expect(published).toMatchObject([{ data: { state: 'unhealthy' } }])
  })
})
