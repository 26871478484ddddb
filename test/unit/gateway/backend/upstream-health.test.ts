import { describe, expect, it } from 'vitest'
import type { BackendPlan } from '../../../../src/plan/route-plan.ts'
import { UpstreamGate, type GatePlan, type UpstreamReport } from '../../../../src/gateway/backend/upstream-gate.ts'
import type { UpstreamChange } from '../../../../src/gateway/backend/backend-monitor.ts'
import { createUpstreamHealth } from '../../../../src/gateway/backend/upstream-health.ts'
import { createFakeClock, settled } from '../../../fixtures/fake-clock.ts'

const START_MS = Date.UTC(2027, 0, 15, 12)
const BACKEND: BackendPlan = { origin: 'http://backend', basePath: '', timeoutMs: 1_000, mayBePrivate: true }

function open(backend: BackendPlan = BACKEND) {
  const clock = createFakeClock(START_MS)
  const gates: GatePlan[] = []
  const changes: UpstreamChange[] = []
  const probes: boolean[] = []
  let probed = 0
  const health = createUpstreamHealth({
    clock,
    setGate: async (_, gate) => void gates.push(gate),
    probe: async () => {
      probed++
      return probes.shift() ?? true
    },
    onChange: (change) => changes.push(change),
    onFailure: (cause) => expect.fail(String(cause)),
  })
  health.watch('acme', 'a-v1', backend)
  const report = (ok: number, failed: number, ms = 10) =>
    health.report([{ api: 'a-v1', ok, failed, latencyUs: ok * ms * 1_000 }] satisfies UpstreamReport[])
  return {
    clock,
    gates,
    changes,
    health,
    report,
    probes,
    probed: () => probed,
    path: () => changes.map(({ to }) => to),
    modes: () => gates.map(({ mode }) => mode),
  }
}

describe('a backend', () => {
  it.each([
    ['well', 1_000, 0, 'healthy'],
    ['with few failures', 5, 4, 'healthy'],
    ['with failures below a tenth', 46, 5, 'healthy'],
    ['with a tenth of failures', 45, 5, 'degraded'],
    ['with less than half', 6, 5, 'degraded'],
    ['with half of its calls failing', 5, 5, 'unhealthy'],
    ['that fails altogether', 0, 5, 'unhealthy'],
  ])('%s is judged by a window: %i good, %i failed', (_, ok, failed, state) => {
    const { report, health } = open()
    report(ok, failed)

    expect(health.stateOf('a-v1')).toBe(state)
  })

  it('that is slow, of calls enough to say so, is degraded, and well again when it is quick', async () => {
    const { report, health, modes, clock } = open()
    report(19, 0, 501)
    expect(health.stateOf('a-v1')).toBe('healthy')
    report(20, 0, 501)
    expect(health.stateOf('a-v1')).toBe('degraded')
    await clock.advance(11_000)
    report(1, 0)

    expect(health.stateOf('a-v1')).toBe('healthy')
    expect(modes()).toEqual([])
  })

  it('is judged by all responses of the window: those before the first failure count as well', async () => {
    const { report, health, clock } = open()
    for (let second = 0; second < 5; second++) {
      report(20, 0)
      await clock.advance(1_000)
    }
    report(0, 5)
    expect(health.stateOf('a-v1')).toBe('healthy')
    report(0, 7)
    expect(health.stateOf('a-v1')).toBe('degraded')
    await clock.advance(10_000)
    report(0, 5)
    expect(health.stateOf('a-v1')).toBe('unhealthy')
  })

  it('fails by what was reported in ten seconds, not before', async () => {
    const { report, health, clock } = open()
    report(0, 3)
    await clock.advance(10_000)
    report(0, 3)
    expect(health.stateOf('a-v1')).toBe('healthy')
    await clock.advance(9_000)
    report(0, 2)

    expect(health.stateOf('a-v1')).toBe('unhealthy')
  })

  it('is shut off, tried again when it has cooled, and open after three good calls', async () => {
    const { report, gates, path, clock } = open()
    report(0, 9)
    expect(gates).toEqual([{ mode: 'shut', retryAtMs: START_MS + 5_000 }])
    report(0, 9)
    await clock.advance(5_000)
    expect(gates.at(-1)).toEqual({ mode: 'trial', retryAtMs: 0 })
    report(1, 0)
    report(1, 0)
    expect(path()).toEqual(['unhealthy', 'recovering'])
    report(1, 0)

    expect(path()).toEqual(['unhealthy', 'recovering', 'healthy'])
    expect(gates.at(-1)?.mode).toBe('open')
  })

  it('that fails again is tried later each time, within a minute', async () => {
    const { report, gates, clock, changes } = open()
    report(0, 9)
    for (const coolingMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      expect(gates.at(-1)).toEqual({ mode: 'shut', retryAtMs: clock.nowMs() + coolingMs })
      await clock.advance(coolingMs)
      report(0, 1)
    }
    expect(changes.filter(({ to }) => to === 'unhealthy')).toHaveLength(7)
  })

  it('of another address is taken to be well', async () => {
    const { report, health, modes } = open()
    report(0, 9)
    health.watch('acme', 'a-v1', BACKEND)
    expect(health.stateOf('a-v1')).toBe('unhealthy')
    health.watch('acme', 'a-v1', { ...BACKEND, origin: 'http://other' })

    expect(health.stateOf('a-v1')).toBe('healthy')
    expect(modes()).toEqual(['shut', 'open'])
  })

  it('of an API that nobody watches changes nothing', () => {
    const { health, changes } = open()
    health.report([{ api: 'other-v1', ok: 0, failed: 100, latencyUs: 0 }])

    expect(changes).toEqual([])
  })
})

describe('a health path', () => {
  const probing = { ...BACKEND, health: '/health' }

  it('is asked every ten seconds; three failures on end shut the backend off, without a call', async () => {
    const { clock, probes, probed, path } = open(probing)
    probes.push(false, false, true, false, false, false)
    await clock.advance(50_000)
    expect([probed(), path()]).toEqual([5, []])
    await clock.advance(10_000)

    expect(path()).toEqual(['unhealthy'])
  })

  it('brings it back, and time alone does not', async () => {
    const { clock, probes, report, path, modes } = open(probing)
    probes.push(false, false)
    report(0, 9)
    await clock.advance(5_000)
    await clock.advance(5_000)
    expect(path()).toEqual(['unhealthy'])
    await clock.advance(5_000)
    await clock.advance(1)
    await settled()
    await clock.advance(1)

    expect(path()).toEqual(['unhealthy', 'recovering', 'healthy'])
    expect(modes().at(-1)).toBe('open')
  })

  it('is not asked any more when it is stopped', async () => {
    const { clock, health, probed } = open(probing)
    health.stop()
    await clock.advance(60_000)

    expect(probed()).toBe(0)
  })
})

describe('the gate of a thread', () => {
  it('lets all through, none until its time, or one a second', () => {
    const gate = new UpstreamGate()
    expect(gate.waitMs(1_000)).toBe(0)
    gate.set({ mode: 'shut', retryAtMs: 5_000 })
    expect([gate.waitMs(1_000), gate.waitMs(4_999), gate.waitMs(9_000)]).toEqual([4_000, 1, 1])
    gate.set({ mode: 'trial', retryAtMs: 0 })
    expect([9_000, 9_001, 9_999, 10_000, 10_001].map((nowMs) => gate.waitMs(nowMs))).toEqual([0, 999, 1, 0, 999])
  })

  it('reports what was answered and what was not, once, and nothing that began before it was set', () => {
    const gate = new UpstreamGate()
    const now = performance.now()
    gate.answered(200, 700, now)
    gate.answered(404, 300, now)
    gate.answered(500, 100, now)
    gate.answered(503, 100, now)
    gate.failed(now)
    expect(gate.hasFailed).toBe(true)
    expect(gate.takeReport('a-v1')).toEqual({ api: 'a-v1', ok: 3, failed: 2, latencyUs: 1_100 })
    expect(gate.takeReport('a-v1')).toBeNull()
    gate.set({ mode: 'trial', retryAtMs: 0 })
    gate.failed(now)
    gate.answered(200, 1, now)

    expect(gate.takeReport('a-v1')).toBeNull()
  })
})
