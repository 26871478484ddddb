/**
 * Counts a call that was admitted as the limits counted it, from its record: the second way to the same
 * counters, which survives the process.
 *
 * A call counts at the time of its decision. Records come in the order in which calls ended: one of a window
 * that is over changes nothing any more, and a bucket that it comes late to is filled by it as it would have
 * been in time, or by a little more where the bucket was empty in between; never by less.
 */

import { createCalendar } from '../../domain/calendar.ts'
import { levelAt } from '../../domain/gcra.ts'
import { applying, warnedAt } from './limit-decision.ts'
import { RATE_SLOTS, TOTAL_SLOTS } from './limit-layout.ts'
import type { CompiledLimit, CompiledQuota, CompiledSla } from './compile-sla.ts'
import { windowStart } from './limit-window.ts'

export type Replay = (
  sla: CompiledSla,
  doubles: Float64Array,
  operation: number,
  atMs: number,
  unitsMicro: number,
) => void

export function createReplay(): Replay {
  const calendar = createCalendar()

  function fill({ offset, step, leak, capacity, alertAt }: CompiledLimit, doubles: Float64Array, atMs: number): void {
    const countedIn = doubles[offset + RATE_SLOTS.step]!
    const level = doubles[offset + RATE_SLOTS.level]!
    const since = doubles[offset + RATE_SLOTS.since]!
    const inUnits = countedIn === step || level === 0 ? level : Math.ceil((level / countedIn) * step)
    const use = levelAt(inUnits, since, atMs, leak)
    const after = use + step
    doubles[offset + RATE_SLOTS.since] = Math.max(since, atMs)
    doubles[offset + RATE_SLOTS.level] = after
    doubles[offset + RATE_SLOTS.step] = step
    if (use * 2 < capacity) doubles[offset + RATE_SLOTS.warned] = 0
    if (after >= alertAt || after + step > capacity) doubles[offset + RATE_SLOTS.warned] = 1
  }

  /** False where the window that begins at `start` is over. */
  function begin(offset: number, doubles: Float64Array, start: number): boolean {
    const stored = doubles[offset + TOTAL_SLOTS.start]!
    if (start > stored) {
      doubles[offset + TOTAL_SLOTS.count] = 0
      doubles[offset + TOTAL_SLOTS.warned] = 0
      doubles[offset + TOTAL_SLOTS.start] = start
    }
    return start >= stored
  }

  function add(limit: CompiledLimit, doubles: Float64Array, atMs: number): void {
    const { rule, offset, validity, capacity, alertAt } = limit
    if (rule.kind !== 'total') return
    if (!begin(offset, doubles, windowStart(rule.window, validity, calendar, atMs))) return
    const after = (doubles[offset + TOTAL_SLOTS.count]! += 1)
    if (after >= alertAt || after + 1 > capacity) doubles[warnedAt(limit)] = 1
  }

  function charge(
    { offset, unit, alertAt, dearest, capacity }: CompiledQuota,
    doubles: Float64Array,
    atMs: number,
    unitsMicro: number,
  ) {
    if (!begin(offset, doubles, calendar.start(unit, atMs))) return
    const after = (doubles[offset + TOTAL_SLOTS.count]! += unitsMicro)
    if (after >= alertAt || after + dearest > capacity) doubles[offset + TOTAL_SLOTS.warned] = 1
  }

  return ({ groups, quota }, doubles, operation, atMs, unitsMicro) => {
    const dayMs = atMs - calendar.start('day', atMs)
    const ofOperation = groups[operation]!
    for (let index = 0; index < ofOperation.length; index++) {
      const limit = applying(ofOperation[index]!, dayMs)
      if (limit === null) continue
      if (limit.rule.kind === 'rate') fill(limit, doubles, atMs)
      else add(limit, doubles, atMs)
    }
    if (quota !== null) charge(quota, doubles, atMs, unitsMicro)
  }
}
