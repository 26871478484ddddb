/** A thread that calls the limiter for one block as often as it can, and posts the number of admitted calls. */

import { parentPort, workerData } from 'node:worker_threads'
import { createLimiter } from '../../../src/limits/limiter.ts'
import type { BlockRef } from '../../../src/limits/limit-block.ts'
import { lock } from '../../../src/limits/limit-lock.ts'
import type { SlaPlan } from '../../../src/boundary/plan/sla-plan.ts'

export interface HammerData {
  readonly thread: number
  readonly threads: number
  readonly plan: SlaPlan
  readonly ref: BlockRef
  /** Calls per minute. */
  readonly takes: number
  readonly minutes: number
  /** The first minute. */
  readonly nowMs: number
  /** Concurrent calls over all threads (current and maximum), and the number of threads at the barrier. */
  readonly running: SharedArrayBuffer
  /** Whether each call ends immediately; otherwise calls never end. */
  readonly isReleasing: boolean
  /** Whether the thread acquires the lock at the end and never releases it. */
  readonly isDying: boolean
}

const { thread, threads, plan, ref, takes, minutes, nowMs, running, isReleasing, isDying } = workerData as HammerData
const limiter = createLimiter({ thread, threads })
const sla = limiter.compile(plan, ['read'])
const block = limiter.open(ref)
const gauges = new Int32Array(running)
const admitted = Array.from({ length: minutes }, takeAll)

function takeAll(_: unknown, minute: number): number {
  let count = 0
  startTogether(minute)
  for (let call = 0; call < takes; call++) {
    if (limiter.take(sla, block, 0, nowMs + minute * 60_000) !== -1) continue
    count++
    const { gauge } = limiter.verdict
    const now = Atomics.add(gauges, 0, 1) + 1
    for (let most = Atomics.load(gauges, 1); now > most; most = Atomics.load(gauges, 1)) {
      Atomics.compareExchange(gauges, 1, most, now)
    }
    if (!isReleasing) continue
    Atomics.sub(gauges, 0, 1)
    limiter.release(block, gauge)
  }
  return count
}

/** Barrier: every thread starts a minute when all have completed the previous one. */
function startTogether(minute: number): void {
  const all = (isDying ? 1 : threads) * (minute + 1)
  Atomics.add(gauges, 2, 1)
  Atomics.notify(gauges, 2)
  for (let here = Atomics.load(gauges, 2); here < all; here = Atomics.load(gauges, 2)) Atomics.wait(gauges, 2, here)
}

if (isDying) lock(block.words, thread + 1)
parentPort?.postMessage(admitted)
if (isDying) setInterval(() => {}, 1_000)
