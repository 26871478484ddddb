/** Spans of the day in UTC: whether a time is in one, in which, and how long it is. */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import type { Validity } from './sla-plan.ts'

/** Whether a span contains `dayMs`, milliseconds after midnight. Without spans every time is valid. */
export function isValid(validity: readonly Validity[], dayMs: number): boolean {
  return validity.length === 0 || spanAt(validity, dayMs) !== null
}

export function spanAt(validity: readonly Validity[], dayMs: number): Validity | null {
  for (let index = 0; index < validity.length; index++) {
    const span = validity[index]!
    const isInside =
      span.startMs < span.endMs
        ? dayMs >= span.startMs && dayMs < span.endMs
        : dayMs >= span.startMs || dayMs < span.endMs
    if (isInside) return span
  }
  return null
}

export function lengthOf({ startMs, endMs }: Validity): number {
  return endMs > startMs ? endMs - startMs : endMs - startMs + DAY_MS
}
