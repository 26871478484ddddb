/**
 * Limits of concurrent calls: one 32-bit gauge per thread, so that the share of a thread that died can be released.
 *
 * Gauges are neither saved nor carried over: a call ends in the block in which it began, and a new block adds the gauges of earlier
 * ones. A record does not count, since its call has ended.
 */

import { sumOf, gaugesOf, type Block } from './limit-block.ts'
import type { LimitBehaviour } from './limit-behaviour.ts'

const SLOTS = { warned: 0, gauges: 1 } as const

export const CONCURRENT: LimitBehaviour<'concurrent'> = {
  size: (threads) => SLOTS.gauges + Math.ceil(threads / 2),
  savedSize: 0,
  warnedSlot: SLOTS.warned,
  gaugesAt,
  reopensWithTime: false,
  warnsOncePerWindow: false,

  compile({ value }) {
    const policy = `q=${value};qu="concurrent-requests"`
    return { step: 1, leak: 0, capacity: value, property: 'concurrent', policy }
  },

  use({ offset }, _index, { words, earlierGauges }, _nowMs, { threads }) {
    let sum = sumOf(words, gaugesAt(offset), threads)
    if (earlierGauges === null) return sum
    for (let index = 0; index < earlierGauges.length; index++) {
      const earlier = earlierGauges[index]!
      if (earlier.offset === offset) sum += sumOf(earlier.gauges, 0, threads)
    }
    return sum
  },

  waitMs: () => 0,

  resetMs: () => 0,

  commit({ offset }, _index, _after, { words }, _nowMs, { verdict, thread }) {
    const gauge = gaugesAt(offset) + thread
    Atomics.add(words, gauge, 1)
    verdict.gauge = gauge
  },

  replay() {},

  usage(_rule, _validity, offset, { page, offset: blockOffset, earlierGauges }, _doubles, _nowMs, { threads }) {
    const gauges = [
      { page, at: blockOffset * 2 + gaugesAt(offset) },
      ...earlierGauges.filter((earlier) => earlier.offset === offset),
    ]
    return { used: gauges.reduce((sum, ref) => sum + sumOf(gaugesOf(ref, threads), 0, threads), 0), endMs: null }
  },
}

/** Ends a call that `gauge` counts; returns whether it counted one. Needs no lock, since each thread writes its own gauges only. */
export function releaseGauge({ words }: Block, gauge: number): boolean {
  if (gauge === 0 || Atomics.load(words, gauge) === 0) return false
  Atomics.sub(words, gauge, 1)
  return true
}

function gaugesAt(offset: number): number {
  return (offset + SLOTS.gauges) * 2
}
