/** A thread that takes messages of one credential as often as it can, and posts the number of admitted ones per minute. */

import { parentPort, workerData } from 'node:worker_threads'
import { createMessageLimit } from '../../../../src/gateway/mcp/message-limit.ts'

export interface TakerData {
  readonly memory: SharedArrayBuffer
  /** The number of threads that have come to the start of a minute. */
  readonly barrier: SharedArrayBuffer
  readonly threads: number
  readonly perMinute: number
  readonly takes: number
  readonly minutes: number
}

const { memory, barrier, threads, perMinute, takes, minutes } = workerData as TakerData
const limit = createMessageLimit(perMinute, memory)
const arrived = new Int32Array(barrier)

function takeAll(_: unknown, minute: number): number {
  Atomics.add(arrived, 0, 1)
  Atomics.notify(arrived, 0)
  const all = threads * (minute + 1)
  for (let here = Atomics.load(arrived, 0); here < all; here = Atomics.load(arrived, 0)) Atomics.wait(arrived, 0, here)
  let admitted = 0
  for (let take = 0; take < takes; take++) if (limit.take('crd_1', minute * 60_000) === 0) admitted++
  return admitted
}

parentPort?.postMessage(Array.from({ length: minutes }, takeAll))
