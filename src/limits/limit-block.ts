/** The block of counters of one subscription at one API: its place in shared memory, and the views of a thread on it. */

import { openLeaseBlock, type LeaseBlock, type LeaseBlockRef } from './lease-block.ts'

/** Can be posted to a thread. */
export interface BlockRef {
  readonly page: SharedArrayBuffer
  /** In doubles. */
  readonly offset: number
  readonly size: number
  /** `Layout.id` */
  readonly layout: string
  /** Gauges of calls that began in earlier blocks of the subscription and still run. */
  readonly earlierGauges: readonly EarlierGaugesRef[]
  /** Null if the limits hold on this node only. */
  readonly leases: LeaseBlockRef | null
}

/** One gauge per thread. */
export interface GaugesRef {
  readonly page: SharedArrayBuffer
  /** The first gauge, in 32-bit words. */
  readonly at: number
}

export interface EarlierGaugesRef extends GaugesRef {
  /** Counter in the current block that these gauges add to. */
  readonly offset: number
}

export interface Block {
  /** Number of its layout in this thread. */
  readonly layout: number
  /** Two views of the same memory. The first word is the lock. */
  readonly words: Int32Array
  readonly doubles: Float64Array
  readonly earlierGauges: readonly EarlierGauges[] | null
  readonly leases: LeaseBlock | null
  /** The word of the lock that guards the counters. */
  readonly lock: Int32Array
}

export interface EarlierGauges {
  readonly offset: number
  readonly gauges: Int32Array
}

export function openBlock(ref: BlockRef, layout: number, threads: number): Block {
  const { page, offset, size, earlierGauges } = ref
  const words = new Int32Array(page, offset * 8, size * 2)
  const leases = ref.leases === null ? null : openLeaseBlock(ref.leases)
  return {
    layout,
    words,
    leases,
    lock: leases?.word ?? words,
    doubles: doublesOf(ref),
    earlierGauges:
      earlierGauges.length === 0
        ? null
        : earlierGauges.map((earlier) => ({ offset: earlier.offset, gauges: gaugesOf(earlier, threads) })),
  }
}

export function doublesOf({ page, offset, size }: BlockRef): Float64Array {
  return new Float64Array(page, offset * 8, size)
}

export function gaugesOf({ page, at }: GaugesRef, threads: number): Int32Array {
  return new Int32Array(page, at * 4, threads)
}

/** Adds up the gauges of all threads: the calls in flight. */
export function sumOf(words: Int32Array, at: number, threads: number): number {
  let sum = 0
  for (let index = at; index < at + threads; index++) sum += Atomics.load(words, index)
  return sum
}
