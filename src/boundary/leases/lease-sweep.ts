/** Chooses which counters of a node are examined for the next message. */

import type { LeaseCounter } from './lease-counter.ts'

/** All counters are examined this much less often the more there are: at 0.5 µs each, it takes a twentieth of the main thread. */
const SWEEP_MS_PER_COUNTER = 0.01

export class LeaseSweep {
  #sweptMs = -Infinity
  #isLatest = false
  /** The latest sweep filled its message, so that the next one is due at once. */
  isPartial = false

  /** Returns all that are active, or those for which calls wait. Neither can keep the other from its turn. */
  pick(
    active: ReadonlySet<LeaseCounter>,
    needed: ReadonlySet<LeaseCounter>,
    monotonicMs: number,
  ): ReadonlySet<LeaseCounter> {
    const isDue = this.isPartial || monotonicMs - this.#sweptMs >= active.size * SWEEP_MS_PER_COUNTER
    this.#isLatest = isDue && !(this.#isLatest && this.isPartial && needed.size > 0)
    if (this.#isLatest) this.#sweptMs = monotonicMs
    return this.#isLatest ? active : needed
  }
}
