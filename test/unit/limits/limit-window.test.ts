/**
 * Declarations like those that OpenSLA 1.0.0 publishes (its example and the examples of its notes), with the limits that apply at
 * given instants, computed by hand: before, in and after each validity, at midnight, at the ends of months and in leap years. All
 * times are UTC, without daylight saving.
 */

import { describe, expect, it } from 'vitest'
import { createCalendar, startOf } from '../../../src/foundation/domain/calendar.ts'
import { applying } from '../../../src/limits/limit-decision.ts'
import { layoutOf } from '../../../src/limits/limit-layout.ts'
import { compileSla } from '../../../src/limits/compile-sla.ts'
import { windowEnd, windowStart } from '../../../src/limits/limit-window.ts'
import { parseDeclaration } from '../../../src/documents/opensla/declaration.ts'
import { LIMIT_WINDOW_CASES } from './limit-window-cases.ts'

const OPERATIONS = ['listItems', 'readItem', 'writeItem', 'dropItem']

/** Returns a line for each limit that applies to a call: name, value, and the window of a total. */
function limitsAt(text: string, operation: string, instant: string): string[] {
  const nowMs = Date.parse(`${instant}Z`)
  const bytes = new TextEncoder().encode(`opensla: 1.0.0\n${text}`)
  const plan = parseDeclaration(bytes, { technicalName: 'items-v1', operationIds: OPERATIONS })
  const { groups } = compileSla(plan, [operation], layoutOf(plan, 1), 0)
  const calendar = createCalendar()
  const show = (timeMs: number) => new Date(timeMs).toISOString().replace(/:00\.000Z$|\.000Z$/, '')
  return groups[0]!
    .map((group) => applying(group, nowMs - startOf('day', nowMs)))
    .filter((limit) => limit !== null)
    .map(({ position, rule, validity }) => {
      const { name } = plan.limits[position]!
      if (rule.kind === 'rate') return `${name}: ${rule.value} in ${rule.spanMs} ms`
      if (rule.kind === 'concurrent') return `${name}: ${rule.value} concurrent`
      const [start, end] = [windowStart, windowEnd].map((edge) => show(edge(rule.window, validity, calendar, nowMs)))
      return `${name}: ${rule.value} from ${start} to ${end}`
    })
    .sort()
}

describe.each(Object.entries(LIMIT_WINDOW_CASES))('%s', (_, { text, rows }) => {
  it.each(rows)('%s at %s', (operation, instant, expected) => {
    expect(limitsAt(text, operation, instant)).toEqual([...expected].sort())
  })
})
