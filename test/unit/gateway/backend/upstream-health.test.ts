import { describe, expect, it } from 'vitest'
import type { BackendPlan } from '../../../../src/boundary/plan/route-plan.ts'
import type { GatePlan, UpstreamReport } from '../../../../src/gateway/backend/upstream-gate.ts'
import type { UpstreamChange } from '../../../../src/gateway/backend/api-monitor.ts'
import { gateKey } from '../../../../src/gateway/backend/gate-key.ts'
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
    setGate: async (_, __, gate) => void gates.push(gate),
    probe: async () => {
      probed++
      return probes.shift() ?? true
    },
    onChange: (change) => changes.push(change),
    onFailure: (cause) => expect.fail(String(cause)),
  })
  health.watch('acme', 'a-v1', backend)
  const report = (ok: number, failed: number, ms = 10) =>
    health.report([
      { key: gateKey('a-v1', backend), ok, failed, latencyUs: ok * ms * 1_000 },
    ] satisfies UpstreamReport[])
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

describe('the health of a backend', () => {
  it.each([
    ['without failures', 1_000, 0, 'healthy'],
    ['with few failures', 5, 4, 'healthy'],
    ['with failures below a tenth', 46, 5, 'healthy'],
    ['with a tenth of failures', 45, 5, 'degraded'],
    ['with less than half of its calls failing', 6, 5, 'degraded'],
    ['with half of its calls failing', 5, 5, 'unhealthy'],
    ['with only failures', 0, 5, 'unhealthy'],
  ])('of a backend %s follows from its window: %i good, %i failed', (_, ok, failed, state) => {
    const { report, health } = open()
    report(ok, failed)

    expect(health.stateOf('a-v1')).toBe(state)
  })

  it('is degraded while enough calls are slow, and healthy again when they are fast', async () => {
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

  it('depends on all responses of the window, also those before the first failure', async () => {
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

  it('depends on the reports of the last ten seconds only', async () => {
    const { report, health, clock } = open()
    report(0, 3)
    await clock.advance(10_000)
    report(0, 3)
    expect(health.stateOf('a-v1')).toBe('healthy')
    await clock.advance(9_000)
    report(0, 2)

    expect(health.stateOf('a-v1')).toBe('unhealthy')
  })

  it('closes the gate, tries again after cooling, and opens it after three good calls', async () => {
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

  it('doubles the wait after each failed recovery, up to a minute', async () => {
    const { report, gates, clock, changes } = open()
    report(0, 9)
    for (const coolingMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      expect(gates.at(-1)).toEqual({ mode: 'shut', retryAtMs: clock.nowMs() + coolingMs })
      await clock.advance(coolingMs)
      report(0, 1)
    }
    expect(changes.filter(({ to }) => to === 'unhealthy')).toHaveLength(7)
  })

  it('starts as healthy if the address of the backend changes', async () => {
    const { report, health, modes } = open()
    report(0, 9)
    health.watch('acme', 'a-v1', BACKEND)
    expect(health.stateOf('a-v1')).toBe('unhealthy')
    health.watch('acme', 'a-v1', { ...BACKEND, origin: 'http://other' })

    expect(health.stateOf('a-v1')).toBe('healthy')
    expect(modes()).toEqual(['shut', 'open'])
  })

  it('ignores reports on an API that it does not monitor', () => {
    const { health, changes } = open()
    health.report([{ key: gateKey('other-v1', BACKEND), ok: 0, failed: 100, latencyUs: 0 }])

    expect(changes).toEqual([])
  })
})

describe('a health path', () => {
  const probing = { ...BACKEND, health: '/health' }

  it('is probed every ten seconds; three failures in a row close the gate without a call', async () => {
    const { clock, probes, probed, path } = open(probing)
    probes.push(false, false, true, false, false, false)
    await clock.advance(50_000)
    expect([probed(), path()]).toEqual([5, []])
    await clock.advance(10_000)

    expect(path()).toEqual(['unhealthy'])
  })

  it('reopens the gate; time alone does not', async () => {
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

  it('is not probed after the monitor is stopped', async () => {
    const { clock, health, probed } = open(probing)
    health.stop()
    await clock.advance(60_000)

    expect(probed()).toBe(0)
  })
})

describe('the backend of a canary', () => {
  const CANARY = 'a-v1 canary'

  async function openCanary() {
    const clock = createFakeClock(START_MS)
    const shut: string[] = []
    const changes: UpstreamChange[] = []
    const health = createUpstreamHealth({
      clock,
      setGate: async (api, key, { mode }) => void shut.push(`${api}: ${key} ${mode}`),
      probe: async () => true,
      onChange: (change) => changes.push(change),
      onFailure: (cause) => expect.fail(String(cause)),
    })
    health.watch('acme', 'a-v1', BACKEND)
    // At the same address: it is another circuit breaker nevertheless.
    health.watchCanary('acme', 'a-v1', BACKEND)
    const fail = (scope: string) => health.report([{ key: gateKey(scope, BACKEND), ok: 0, failed: 9, latencyUs: 0 }])
    return { health, shut, changes, fail }
  }

  it('fails for itself alone', async () => {
    const { health, shut, changes, fail } = await openCanary()
    fail(CANARY)
    expect(shut).toEqual(['a-v1: a-v1 canary http://backend shut'])
    expect(changes).toMatchObject([{ api: 'a-v1', isCanary: true, to: 'unhealthy' }])
    expect([health.stateOf('a-v1'), health.issues()]).toEqual(['healthy', []])
    fail('a-v1')
    expect(changes).toMatchObject([{}, { api: 'a-v1', isCanary: false, to: 'unhealthy' }])
    expect(health.issues()).toEqual([{ tenant: 'acme', api: 'a-v1', state: 'unhealthy', severity: 2 }])
  })

  it.each(['with the canary', 'with the API'])('is no longer monitored after its end: %s', async (end) => {
    const { health, shut, changes, fail } = await openCanary()
    fail(CANARY)
    if (end === 'with the API') health.unwatch('a-v1')
    else health.watchCanary('acme', 'a-v1', null)
    expect(shut.at(-1)).toBe('a-v1: a-v1 canary http://backend open')
    fail(CANARY)
    expect(changes).toHaveLength(1)
  })
})
