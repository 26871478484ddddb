import { describe, expect, it } from 'vitest'
import { ApiMonitor, type UpstreamChange } from '../../../../src/gateway/backend/api-monitor.ts'
import { gateKey } from '../../../../src/gateway/backend/gate-key.ts'
import { createUpstreamHealth } from '../../../../src/gateway/backend/upstream-health.ts'
import type { BackendPlan, TargetPlan } from '../../../../src/boundary/plan/route-plan.ts'
import { createFakeClock, settled } from '../../../fixtures/fake-clock.ts'

const START_MS = Date.UTC(2027, 0, 15, 12)
const [A, B, C] = ['a', 'b', 'c'].map((name) => ({ origin: `http://${name}`, basePath: '' })) as [
  TargetPlan,
  TargetPlan,
  TargetPlan,
]

const backendOf = (...targets: readonly TargetPlan[]): BackendPlan => ({
  ...targets[0]!,
  timeoutMs: 1_000,
  mayBePrivate: true,
  targets,
})

function openOptions() {
  const clock = createFakeClock(START_MS)
  const changes: UpstreamChange[] = []
  const gates: string[] = []
  const probed: string[] = []
  const broken = new Set<string>()
  return {
    clock,
    changes,
    gates,
    probed,
    broken,
    setGate: async (api: string, key: string, { mode }: { mode: string }) => void gates.push(`${api}: ${key} ${mode}`),
    probe: async ({ origin }: BackendPlan) => {
      probed.push(origin)
      return !broken.has(origin)
    },
    onChange: (change: UpstreamChange) => void changes.push(change),
    onFailure: (cause: unknown) => expect.fail(String(cause)),
  }
}

function open(backend: BackendPlan) {
  const options = openOptions()
  const monitor = new ApiMonitor({ tenant: 'acme', api: 'x-v1', backend }, 'x-v1', options)
  const report = (target: TargetPlan, ok: number, failed: number): void =>
    monitor.report({ key: gateKey('x-v1', target), ok, failed, latencyUs: ok * 10 })
  return { ...options, monitor, report }
}

describe('the health of an API with several targets', () => {
  it('is degraded while some targets fail, and unhealthy when all do', async () => {
    const { monitor, report, changes, gates } = open(backendOf(A, B))
    report(B, 100, 0)
    report(A, 0, 5)
    expect([monitor.state, gates]).toEqual(['degraded', ['x-v1: x-v1 http://a shut']])
    report(B, 0, 200)
    expect(monitor.state).toBe('unhealthy')
    expect(changes).toMatchObject([
      { origin: 'http://a', to: 'unhealthy', from: 'healthy', state: 'degraded', severity: 2, failing: ['http://a'] },
      { origin: 'http://b', to: 'unhealthy', from: 'healthy', state: 'unhealthy', severity: 4 },
    ])
    expect(changes[1]!.failing).toEqual(['http://a', 'http://b'])
  })

  it('is recovering while no target is open to all calls but one recovers, and healthy when all are', async () => {
    const { monitor, report, clock } = open(backendOf(A, B))
    report(A, 0, 5)
    await clock.advance(3_000)
    report(B, 0, 5)
    await clock.advance(2_000)
    expect(monitor.state).toBe('recovering')
    report(A, 3, 0)
    expect(monitor.state).toBe('degraded')
    await clock.advance(3_000)
    report(B, 3, 0)
    expect(monitor.state).toBe('healthy')
  })

  it('never counts the failures of one target, or of none of them, for another', () => {
    const { monitor, report, gates } = open(backendOf(A, B, C))
    report(A, 0, 1_000)
    report({ origin: 'http://stranger', basePath: '' }, 0, 1_000)
    monitor.report({ key: gateKey('y-v1', B), ok: 0, failed: 1_000, latencyUs: 0 })
    expect(gates).toEqual(['x-v1: x-v1 http://a shut'])
  })

  it('is probed target by target', async () => {
    const options = openOptions()
    options.broken.add('http://b')
    const monitor = new ApiMonitor(
      { tenant: 'acme', api: 'x-v1', backend: { ...backendOf(A, B), health: '/up' } },
      'x-v1',
      options,
    )
    for (let count = 0; count < 3; count++) await options.clock.advance(10_000)
    await settled()
    expect(options.probed.filter((origin) => origin === 'http://b')).toHaveLength(3)
    expect([monitor.state, options.gates]).toEqual(['degraded', ['x-v1: x-v1 http://b shut']])
  })

  it('is kept for the targets that a new revision has as well, and is opened for those that it has not', () => {
    const { monitor, report, gates, clock } = open(backendOf(A, B, C))
    report(A, 0, 5)
    report(B, 0, 5)
    gates.length = 0
    monitor.setBackend(backendOf(C, A))
    expect([monitor.state, gates]).toEqual(['degraded', ['x-v1: x-v1 http://b open']])
    monitor.setBackend(backendOf(C))
    expect([monitor.state, gates.at(-1)]).toEqual(['healthy', 'x-v1: x-v1 http://a open'])
    expect(clock.pending).toBe(0)
  })

  it('names no target if there is one only', () => {
    const { report, changes } = open(backendOf(A))
    report(A, 0, 5)
    expect(changes).toMatchObject([{ origin: null, failing: [], from: 'healthy', state: 'unhealthy' }])
  })
})

describe('the health of two APIs with the same target', () => {
  it('is kept apart', () => {
    const options = openOptions()
    const health = createUpstreamHealth(options)
    health.watch('acme', 'x-v1', backendOf(A, B))
    health.watch('rival', 'y-v1', backendOf(A, B))
    health.report([{ key: gateKey('x-v1', A), ok: 0, failed: 9, latencyUs: 0 }])
    expect([health.stateOf('x-v1'), health.stateOf('y-v1')]).toEqual(['degraded', 'healthy'])
    expect(health.issues()).toEqual([{ tenant: 'acme', api: 'x-v1', state: 'degraded', severity: 2 }])
    expect(options.gates).toEqual(['x-v1: x-v1 http://a shut'])
    health.unwatch('x-v1')
    expect(options.gates.at(-1)).toBe('x-v1: x-v1 http://a open')
    expect([health.stateOf('x-v1'), health.issues()]).toEqual(['healthy', []])
  })

  it('begins anew if another tenant takes the name', () => {
    const options = openOptions()
    const health = createUpstreamHealth(options)
    health.watch('acme', 'x-v1', backendOf(A))
    health.report([{ key: gateKey('x-v1', A), ok: 0, failed: 9, latencyUs: 0 }])
    health.watch('rival', 'x-v1', backendOf(A))
    expect(health.stateOf('x-v1')).toBe('healthy')
  })
})
