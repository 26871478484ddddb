import { describe, expect, it } from 'vitest'
import { shareUpstreams, type FailingBackend } from '../../../../src/control/publishing/shared-upstreams.ts'
import { severityOf } from '../../../../src/boundary/plan/upstream-state.ts'
import type { UpstreamReport, UpstreamReports } from '../../../../src/storage/store/upstream-reports.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const issue = (api: string, state: FailingBackend['state']): FailingBackend => ({
  tenant: 'acme',
  api,
  state,
  severity: severityOf(state),
})

function open(listed: readonly UpstreamReport[] = []) {
  const clock = createFakeClock(0)
  const stated: string[] = []
  const failures: unknown[] = []
  const node = { own: [] as readonly FailingBackend[], fault: null as Error | null, pending: '' }
  const upstreams: UpstreamReports = {
    report: async () => false,
    publish: async () => {},
    async restate(incarnation, reports) {
      if (node.fault !== null) throw node.fault
      const stating = reports.map(
        (each) => `${each.api} ${each.state} ${each.severity}${each.isPending ? ' pending' : ''}`,
      )
      stated.push([incarnation, ...stating].join(', '))
    },
    list: async (tenant) => listed.filter((report) => report.tenant === tenant),
  }
  const onFailed = (cause: unknown): void => void failures.push(cause)
  const events = {
    isPending: (api: string) => api === node.pending,
    async retry() {
      if (node.pending !== '') stated.push(`retry ${node.pending}`)
    },
  }
  const shared = shareUpstreams({ upstreams, incarnation: 'here', own: () => node.own, events, clock, onFailed })
  return { ...shared, clock, stated, failures, node }
}

describe('the failing backends of a node', () => {
  it('are stated again while there are any, and once more when there are none', async () => {
    const { clock, stated, node } = open()
    await clock.advance(60_000)
    expect(stated).toEqual([])
    node.own = [issue('a-v1', 'unhealthy'), issue('b-v1', 'recovering')]
    await clock.advance(20_000)
    const both = 'here, a-v1 unhealthy 2, b-v1 recovering 0'
    expect(stated.splice(0)).toEqual([both, both])
    node.own = []
    await clock.advance(60_000)
    expect(stated).toEqual(['here'])
  })

  it('are stated after a change, though the backend has recovered meanwhile', async () => {
    const { clock, stated, changed } = open()
    changed()
    await clock.advance(30_000)
    expect(stated).toEqual(['here'])
  })

  it('are stated with the event that is pending, which is tried again afterwards', async () => {
    const { clock, stated, node } = open()
    node.own = [issue('a-v1', 'unhealthy'), issue('b-v1', 'degraded')]
    node.pending = 'b-v1'
    await clock.advance(10_000)
    expect(stated).toEqual(['here, a-v1 unhealthy 2, b-v1 degraded 1 pending', 'retry b-v1'])
  })

  it('are stated until that succeeds', async () => {
    const { clock, stated, failures, node, changed } = open()
    node.fault = new Error('PostgreSQL is away')
    changed()
    await clock.advance(20_000)
    expect([stated, failures]).toEqual([[], [node.fault, node.fault]])
    node.fault = null
    await clock.advance(20_000)
    expect(stated).toEqual(['here'])
  })

  it('are no longer stated after the end', async () => {
    const { clock, stop, changed } = open()
    changed()
    await stop()
    expect(clock.pending).toBe(0)
  })
})

describe('the issues of all nodes', () => {
  it('have the worst state of each API, and none that this version does not know', async () => {
    const report = (api: string, state: string, tenant = 'acme'): UpstreamReport => ({
      tenant,
      api,
      state,
      severity: 1,
    })
    const { issuesOf } = open([
      ...[report('a-v1', 'degraded'), report('a-v1', 'unhealthy'), report('a-v1', 'recovering')],
      ...[report('b-v1', 'recovering'), report('b-v1', 'degraded'), report('c-v1', 'asleep')],
      report('d-v1', 'unhealthy', 'rival'),
    ])
    expect(await issuesOf('acme')).toEqual([
      { api: 'a-v1', state: 'unhealthy' },
      { api: 'b-v1', state: 'recovering' },
    ])
  })
})
