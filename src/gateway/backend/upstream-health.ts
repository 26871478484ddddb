/**
 * The health of every backend, as the main thread sees it: what the threads report of real calls, and
 * probes of a health path where a proxy declares one.
 *
 * A backend that is down is shut off on every thread, so that callers hear 503 with `Retry-After` at once
 * instead of queueing for a time-out each; it is tried again by probes or, without a health path, by a
 * call a second of each thread. The failure ratio is taken over all responses of the last ten seconds.
 */

import { begin, step, type PersistedActor } from '../../command/persisted-machine.ts'
import type { UpstreamState } from '../../plan/upstream-state.ts'
import { upstreamHealth as machine, type UpstreamEvent } from './upstream-health-machine.ts'
import type { BackendPlan } from '../../plan/route-plan.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { GatePlan, UpstreamReport } from './upstream-gate.ts'

export interface UpstreamHealth {
  /** An API serves by this backend from now on; another one than before is taken to be healthy. */
  watch(tenant: string, api: string, backend: BackendPlan): void
  report(reports: readonly UpstreamReport[]): void
  stateOf(api: string): UpstreamState
  stop(): void
}

export interface UpstreamChange {
  readonly tenant: string
  readonly api: string
  readonly from: UpstreamState
  readonly to: UpstreamState
  /** Of the last ten seconds. */
  readonly ok: number
  readonly failed: number
}

export interface UpstreamHealthOptions {
  readonly clock: Clock
  /** Changes the gate of an API on every thread. */
  readonly setGate: (api: string, gate: GatePlan) => Promise<void>
  /** Whether the health path answers as it should. Does not reject. */
  readonly probe: (backend: BackendPlan) => Promise<boolean>
  readonly onChange: (change: UpstreamChange) => void
  readonly onFailure: (cause: unknown) => void
}

interface Entry {
  readonly tenant: string
  readonly api: string
  readonly backend: BackendPlan
  actor: PersistedActor
  /** By second. */
  readonly window: Map<number, UpstreamReport>
  cancel: () => void
}

const WINDOW_SECONDS = 10
const SLOW_CALLS_MIN = 20
const PROBE_EVERY_MS = 10_000
const COOLING_MS = 5_000
const COOLING_MAX_MS = 60_000
const OPEN: GatePlan = { mode: 'open', retryAtMs: 0 }

export function createUpstreamHealth(options: UpstreamHealthOptions): UpstreamHealth {
  const { clock, setGate, probe, onChange, onFailure } = options
  const entries = new Map<string, Entry>()

  function watch(tenant: string, api: string, backend: BackendPlan): void {
    const before = entries.get(api)
    if (before !== undefined && isSame(before.backend, backend)) return
    before?.cancel()
    const entry: Entry = {
      tenant,
      api,
      backend,
      actor: begin(machine, undefined),
      window: new Map(),
      cancel: () => {},
    }
    entries.set(api, entry)
    if (before !== undefined && stateIn(before) !== 'healthy') tell(api, OPEN)
    if (backend.health !== undefined) probeAfter(entry, PROBE_EVERY_MS)
  }

  function report(reports: readonly UpstreamReport[]): void {
    for (const each of reports) {
      const entry = entries.get(each.api)
      if (entry === undefined) continue
      add(entry, each)
      const { ok, failed, latencyUs } = sumOf(entry)
      const known = { api: each.api, ok, failed, latencyUs }
      // Nothing can change; the state machine would cost a busy catalogue more than it tells.
      if (failed === 0 && stateIn(entry) === 'healthy' && !isSlow(known, entry.backend)) continue
      send(entry, { type: 'window', ok, failed, isSlow: isSlow(known, entry.backend) })
    }
  }

  function add({ window, api }: Entry, { ok, failed, latencyUs }: UpstreamReport): void {
    const second = Math.floor(clock.nowMs() / 1_000)
    const of = window.get(second) ?? { api, ok: 0, failed: 0, latencyUs: 0 }
    window.set(second, { api, ok: of.ok + ok, failed: of.failed + failed, latencyUs: of.latencyUs + latencyUs })
    for (const old of window.keys()) if (old <= second - WINDOW_SECONDS) window.delete(old)
  }

  function send(entry: Entry, event: UpstreamEvent): void {
    const from = stateIn(entry)
    const result = step(machine, entry.actor, event)
    if ('refused' in result) return
    entry.actor = result.next
    const to = stateIn(entry)
    // In recovery only what came since counts, and only once.
    if (to !== from || to === 'recovering') changed(entry, from, to)
  }

  function changed(entry: Entry, from: UpstreamState, to: UpstreamState): void {
    const { ok, failed } = sumOf(entry)
    const { tenant, api, backend } = entry
    // What was counted before says nothing about a backend that has been shut off, or is tried again.
    if (to === 'unhealthy' || to === 'recovering') entry.window.clear()
    if (from === to) return
    onChange({ tenant, api, from, to, ok, failed })
    if (to === 'unhealthy') return shut(entry)
    if (to === 'recovering') tell(api, { mode: 'trial', retryAtMs: 0 })
    else if (from === 'recovering') tell(api, OPEN)
    if (backend.health !== undefined && to !== 'degraded') probeAfter(entry, to === 'recovering' ? 0 : PROBE_EVERY_MS)
  }

  function shut(entry: Entry): void {
    const { tries } = entry.actor.context as { readonly tries: number }
    const coolingMs = Math.min(COOLING_MAX_MS, COOLING_MS * 2 ** tries)
    tell(entry.api, { mode: 'shut', retryAtMs: clock.nowMs() + coolingMs })
    if (entry.backend.health !== undefined) return probeAfter(entry, coolingMs)
    entry.cancel()
    entry.cancel = clock.after(coolingMs, () => send(entry, { type: 'cooled' }))
  }

  function probeAfter(entry: Entry, delayMs: number): void {
    entry.cancel()
    let isOff = false
    const cancel = clock.after(delayMs, () => {
      void probe(entry.backend).then((isOk) => {
        if (isOff) return
        const before = stateIn(entry)
        send(entry, { type: isOk ? 'probe.ok' : 'probe.failed' })
        const after = stateIn(entry)
        if (after === 'unhealthy' && before === 'unhealthy') shut(entry)
        else if (after === before) probeAfter(entry, after === 'recovering' ? 0 : PROBE_EVERY_MS)
      })
    })
    entry.cancel = () => {
      isOff = true
      cancel()
    }
  }

  function tell(api: string, gate: GatePlan): void {
    setGate(api, gate).catch(onFailure)
  }

  return {
    watch,
    report,
    stateOf: (api) => {
      const entry = entries.get(api)
      return entry === undefined ? 'healthy' : stateIn(entry)
    },
    stop() {
      for (const entry of entries.values()) entry.cancel()
    },
  }
}

function stateIn({ actor }: Entry): UpstreamState {
  return actor.value as UpstreamState
}

function sumOf({ window }: Entry): { readonly ok: number; readonly failed: number; readonly latencyUs: number } {
  let [ok, failed, latencyUs] = [0, 0, 0]
  for (const each of window.values()) {
    ok += each.ok
    failed += each.failed
    latencyUs += each.latencyUs
  }
  return { ok, failed, latencyUs }
}

/** On the mean over half of the time an answer may take. */
function isSlow({ ok, latencyUs }: UpstreamReport, { timeoutMs }: BackendPlan): boolean {
  return ok >= SLOW_CALLS_MIN && latencyUs / ok > timeoutMs * 500
}

function isSame(a: BackendPlan, b: BackendPlan): boolean {
  return (
    a.origin === b.origin &&
    a.basePath === b.basePath &&
    a.health === b.health &&
    a.timeoutMs === b.timeoutMs &&
    a.mayBePrivate === b.mayBePrivate
  )
}
