/**
 * Rate limits: a leaking bucket of whole units (`foundation/domain/gcra.ts`).
 *
 * A declaration that changes the rate keeps the level of the bucket: it is converted to the units of the new rate, and leaks at that
 * rate.
 */

import { leakTimeMs, levelAt, toBucket } from '../foundation/domain/gcra.ts'
import type { LimitBehaviour } from './limit-behaviour.ts'
import { isAhead, laterStart } from './limit-window.ts'

/** Time of `level`; level; units of one call when it was counted; warned. */
const SLOTS = { since: 0, level: 1, step: 2, warned: 3 } as const
const SIZE = 4

export const RATE: LimitBehaviour<'rate'> = {
  size: () => SIZE,
  savedSize: SIZE,
  warnedSlot: SLOTS.warned,
  gaugesAt: () => null,
  reopensWithTime: true,
  warnsOncePerWindow: false,

  compile({ value, spanMs }) {
    const policy = `q=${value};w=${Math.ceil(spanMs / 1_000)}`
    return { ...toBucket(value, spanMs), property: 'rate', policy }
  },

  use({ offset, step, leak }, _index, { doubles }, nowMs) {
    const since = doubles[offset + SLOTS.since]!
    // The clock was set back after this was stored, so the level leaks from now on and not from that future time.
    if (isAhead(since, nowMs)) doubles[offset + SLOTS.since] = nowMs
    return levelAt(levelIn(step, offset, doubles), since, nowMs, leak)
  },

  waitMs: ({ step, capacity, leak }, use) => leakTimeMs(use + step - capacity, leak),

  resetMs: ({ leak }, use) => leakTimeMs(use, leak),

  commit({ offset, step }, _index, after, { doubles }, nowMs) {
    doubles[offset + SLOTS.since] = laterStart(nowMs, doubles[offset + SLOTS.since]!, nowMs)
    doubles[offset + SLOTS.level] = after
    doubles[offset + SLOTS.step] = step
  },

  replay({ offset, step, leak, capacity, alertAt, warnedAt }, doubles, atMs) {
    const since = doubles[offset + SLOTS.since]!
    const use = levelAt(levelIn(step, offset, doubles), since, atMs, leak)
    const after = use + step
    doubles[offset + SLOTS.since] = Math.max(since, atMs)
    doubles[offset + SLOTS.level] = after
    doubles[offset + SLOTS.step] = step
    if (use * 2 < capacity) doubles[warnedAt] = 0
    if (after >= alertAt || after + step > capacity) doubles[warnedAt] = 1
  },

  usage({ value, spanMs }, _validity, offset, _ref, doubles, nowMs) {
    if (value === 0) return { used: 0, endMs: null }
    const { leak, step } = toBucket(value, spanMs)
    const countedIn = doubles[offset + SLOTS.step]! || step
    const level = (doubles[offset + SLOTS.level]! / countedIn) * step
    return { used: Math.ceil(levelAt(level, doubles[offset + SLOTS.since]!, nowMs, leak) / step), endMs: null }
  },
}

/** Returns the stored level in units of `step` per call. */
function levelIn(step: number, offset: number, doubles: Float64Array): number {
  const level = doubles[offset + SLOTS.level]!
  const countedIn = doubles[offset + SLOTS.step]!
  return countedIn === step || level === 0 ? level : Math.ceil((level / countedIn) * step)
}
