/** Windows of slices, computed from the declared rule and the time of the grantor in UTC, so that all nodes agree about them. */

import { endOf, startOf, type CalendarUnit } from '../../foundation/domain/calendar.ts'
import type { TotalWindow } from '../../foundation/domain/limit-rule.ts'
import type { TotalDeclaration } from './lease-declaration.ts'

/** Declares a total per calendar window, which starts and ends with it, whatever its length: months, quarters, leap years. */
export function calendarTotal(unit: CalendarUnit, value: number, version: number): TotalDeclaration {
  const windowAt = (serverMs: number) => ({ startMs: startOf(unit, serverMs), endMs: endOf(unit, serverMs) })
  return { kind: 'total', version, value, windowAt }
}

/** Whether PostgreSQL grants a total, and not Redis: those of a day or longer, and periods, whose length may change with the time. */
export function isSlice(window: TotalWindow): boolean {
  return window !== 'minute' && window !== 'hour'
}
