/**
 * The targets of a revision on one thread, and the choice among them.
 *
 * `roundRobin` is smooth weighted round robin: each choice adds its weight to every candidate, takes the one with the most and
 * subtracts the sum of the weights from it, so that the calls of a heavy target are spread evenly. `leastBusy` takes the target
 * with the fewest calls in flight by weight, and shares ties by round robin.
 *
 * Candidates are the targets whose gate admits a call; those with a free connection come first. A call may go to a target that
 * recovers, once per second and thread (`upstream-gate.ts`). A call that is not safe to lose goes there only if no other target is
 * open, or if no other call has come for a while.
 */

import { targetsOf } from '../../boundary/plan/backend-targets.ts'
import type { BackendPlan } from '../../boundary/plan/route-plan.ts'
import { Backend, type BackendSettings } from './backend.ts'
import { gateKey } from './gate-key.ts'
import { RetryBudget } from './retry-budget.ts'
import type { UpstreamGate } from './upstream-gate.ts'

interface Target {
  readonly backend: Backend
  readonly weight: number
  /** Credit of round robin. */
  credit: number
}

export class Balancer {
  /** The only target; null if there are several, among which `choose` decides. */
  readonly only: Backend | null
  /** Bounds the requests that are sent again; null with one target. */
  readonly retries: RetryBudget | null
  readonly #targets: readonly Target[]
  readonly #isLeastBusy: boolean
  /** Reused by each choice. */
  readonly #candidates: Target[] = []

  constructor(plan: BackendPlan, settings: BackendSettings) {
    const targets = targetsOf(plan)
    this.#targets = targets.map((target) => ({
      backend: new Backend(target.plan, settings),
      weight: target.weight,
      credit: 0,
    }))
    this.#isLeastBusy = plan.balance === 'leastBusy'
    this.only = this.#targets.length === 1 ? this.#targets[0]!.backend : null
    this.retries = this.only === null ? new RetryBudget() : null
  }

  get backends(): readonly Backend[] {
    return this.#targets.map(({ backend }) => backend)
  }

  gateKeys(scope: string): readonly string[] {
    return this.#targets.map(({ backend }) => gateKey(scope, backend.plan))
  }

  /** Uses the gates of a thread instead of new ones. */
  setGates(scope: string, gateOf: (key: string) => UpstreamGate): void {
    for (const { backend } of this.#targets) backend.gate = gateOf(gateKey(scope, backend.plan))
  }

  /**
   * Returns the target for a call of `holder`. If no gate admits one, that with the shortest wait. `isSafe`: nothing is lost if the
   * target fails, since the call may be sent again.
   */
  choose(holder: string, isSafe: boolean, nowMs: () => number): Backend {
    const backend = this.chooseOther(null, holder, isSafe, nowMs)
    if (backend === null) return this.#soonest(nowMs)
    this.retries?.deposit(nowMs())
    return backend
  }

  /** Returns a target that admits a call of `holder` and is not among `tried`; null if there is none. */
  chooseOther(tried: readonly Backend[] | null, holder: string, isSafe: boolean, nowMs: () => number): Backend | null {
    const candidates = this.#candidates
    const isOneSpared = this.#collect(tried, holder, isSafe, nowMs)
    if (candidates.length === 0 && isOneSpared) this.#collect(tried, holder, true, nowMs)
    if (this.#isLeastBusy) keepLeastBusy(candidates)
    return takeNext(candidates)?.backend ?? null
  }

  /** Collects the candidates. Returns whether a target that recovers was left out, because the call is not safe to lose. */
  #collect(tried: readonly Backend[] | null, holder: string, isSafe: boolean, nowMs: () => number): boolean {
    const candidates = this.#candidates
    candidates.length = 0
    let free = 0
    let isOneSpared = false
    for (const target of this.#targets) {
      const { backend } = target
      if (tried?.includes(backend) === true || !backend.gate.isOpen(nowMs)) continue
      if (!isSafe && backend.gate.sparesUnsafe(nowMs)) {
        isOneSpared = true
        continue
      }
      candidates.push(target)
      if (!backend.slots.isFreeFor(holder)) continue
      // Those with a free connection come first.
      candidates[candidates.length - 1] = candidates[free]!
      candidates[free++] = target
    }
    if (free > 0) candidates.length = free
    return isOneSpared
  }

  close(): void {
    for (const { backend } of this.#targets) backend.close()
  }

  #soonest(nowMs: () => number): Backend {
    let soonest = this.#targets[0]!.backend
    for (const { backend } of this.#targets) {
      if (backend.gate.remainingMs(nowMs) < soonest.gate.remainingMs(nowMs)) soonest = backend
    }
    return soonest
  }
}

/** Removes all candidates but those with the fewest calls in flight by weight. */
function keepLeastBusy(candidates: Target[]): void {
  let length = 0
  for (const target of candidates) {
    const first = candidates[0]!
    const difference = target.backend.callsInFlight * first.weight - first.backend.callsInFlight * target.weight
    if (difference > 0) continue
    if (difference < 0) length = 0
    candidates[length++] = target
  }
  candidates.length = length
}

/** Takes the next candidate in weighted round robin. */
function takeNext(candidates: readonly Target[]): Target | null {
  let next: Target | null = null
  let sum = 0
  for (const target of candidates) {
    target.credit += target.weight
    sum += target.weight
    if (next === null || target.credit > next.credit) next = target
  }
  if (next !== null) next.credit -= sum
  return next
}
