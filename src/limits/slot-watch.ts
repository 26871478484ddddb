/**
 * Ends calls whose slots other nodes may be granted, because this node cannot renew them: calls that run for longer than the longest
 * call that the grantor waits for. Without this a stream on a node that is cut off would run beside others that have its slot.
 */

import { systemClock, type Clock } from '../foundation/runtime/clock.ts'
import { createMonotonicClock } from '../foundation/runtime/monotonic.ts'
import { isSlotLost } from './lease-block.ts'
import type { Block } from './limit-block.ts'

export interface SlotWatchOptions<Call> {
  /** Number of this thread, from 0. */
  readonly thread: number
  /** Ends a call; called at most once for each. */
  readonly end: (call: Call) => void
  /** A call could not be ended. */
  readonly onFault: (cause: unknown) => void
  readonly clock?: Clock
  /** The same clock as that of the leases; tests replace it. */
  readonly monotonicMs?: () => number
}

interface Held {
  readonly block: Block
  readonly gauge: number
}

const SCAN_EVERY_MS = 1_000

/** The calls of one thread that hold leased slots. */
export class SlotWatch<Call extends object> {
  readonly #thread: number
  readonly #end: (call: Call) => void
  readonly #clock: Clock
  readonly #monotonicMs: () => number
  readonly #onFault: (cause: unknown) => void
  readonly #held = new Map<Call, Held>()
  #stop: (() => void) | null = null

  constructor(options: SlotWatchOptions<Call>) {
    const { thread, end, onFault, clock = systemClock, monotonicMs = createMonotonicClock() } = options
    this.#thread = thread
    this.#end = end
    this.#onFault = onFault
    this.#clock = clock
    this.#monotonicMs = monotonicMs
  }

  /** Watches a call that was admitted; does nothing if it holds no leased slot. */
  enter(call: Call, block: Block, gauge: number): void {
    if (gauge === 0 || block.leases === null) return
    this.#held.set(call, { block, gauge })
    this.#stop ??= this.#clock.every(SCAN_EVERY_MS, () => this.#scan())
  }

  leave(call: Call): void {
    this.#held.delete(call)
  }

  #scan(): void {
    const now = { monotonicMs: this.#monotonicMs(), wallMs: this.#clock.nowMs() }
    for (const [call, { block, gauge }] of this.#held) {
      if (block.leases === null || !isSlotLost(block.leases, gauge, this.#thread, now)) continue
      this.#held.delete(call)
      try {
        this.#end(call)
      } catch (cause) {
        this.#onFault(cause)
      }
    }
    if (this.#held.size > 0) return
    this.#stop?.()
    this.#stop = null
  }
}
