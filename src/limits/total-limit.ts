/**
 * Totals: calls per calendar window in UTC, or per period of the limit's validity.
 *
 * A call counts in the window in which it was admitted.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS } from '../foundation/domain/calendar.ts'
import type { TotalWindow } from '../foundation/domain/limit-rule.ts'
import type { Validity } from '../boundary/plan/sla-plan.ts'
import { lengthOf } from '../boundary/plan/validity-span.ts'
import type { LimitBehaviour } from './limit-behaviour.ts'
import { laterStart, windowEnd, windowStart } from './limit-window.ts'
import { advanceTo, countSince, WINDOW_COUNTER_SIZE, WINDOW_SLOTS } from './window-counter.ts'

const WINDOW_MS: Readonly<Record<Exclude<TotalWindow, 'period'>, number>> = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: WEEK_MS,
  // The longest month, since a policy names a span and not a calendar.
  month: 31 * DAY_MS,
}

export const TOTAL: LimitBehaviour<'total'> = {
  size: () => WINDOW_COUNTER_SIZE,
  savedSize: WINDOW_COUNTER_SIZE,
  warnedSlot: WINDOW_SLOTS.warned,
  gaugesAt: () => null,
  reopensWithTime: true,
  warnsOncePerWindow: true,

  compile({ value, window }, validity) {
    const policy = `q=${value};w=${Math.ceil(windowLengthMs(window, validity) / 1_000)}`
    return { step: 1, leak: 0, capacity: value, property: window, policy }
  },

  use({ rule, validity, offset }, index, { doubles }, nowMs, { calendar, starts }) {
    const stored = doubles[offset + WINDOW_SLOTS.start]!
    const start = laterStart(windowStart(rule.window, validity, calendar, nowMs), stored, nowMs)
    starts[index] = start
    return stored === start ? doubles[offset + WINDOW_SLOTS.count]! : 0
  },

  waitMs: ({ rule, validity }, _use, nowMs, calendar) => windowEnd(rule.window, validity, calendar, nowMs) - nowMs,

  resetMs: ({ rule, validity }, _use, nowMs, calendar) => windowEnd(rule.window, validity, calendar, nowMs) - nowMs,

  commit({ offset, warnedAt }, index, after, { doubles }, _nowMs, { starts }) {
    if (doubles[offset + WINDOW_SLOTS.start] !== starts[index]) {
      doubles[offset + WINDOW_SLOTS.start] = starts[index]!
      doubles[warnedAt] = 0
    }
    doubles[offset + WINDOW_SLOTS.count] = after
  },

  replay({ rule, validity, offset, step, capacity, alertAt, warnedAt }, doubles, atMs, calendar) {
    if (!advanceTo(windowStart(rule.window, validity, calendar, atMs), offset, doubles)) return
    const after = (doubles[offset + WINDOW_SLOTS.count]! += step)
    if (after >= alertAt || after + step > capacity) doubles[warnedAt] = 1
  },

  usage({ window }, validity, offset, _ref, doubles, nowMs, { calendar }) {
    const used = countSince(windowStart(window, validity, calendar, nowMs), offset, doubles)
    return { used, endMs: windowEnd(window, validity, calendar, nowMs) }
  },
}

function windowLengthMs(window: TotalWindow, validity: readonly Validity[]): number {
  return window === 'period' ? Math.max(0, ...validity.map(lengthOf)) : WINDOW_MS[window]
}
