/** Checks of the life of an operation that a ruleset may switch on: its sunset and its stability. */

import { DAY_MS } from '../../../foundation/domain/calendar.ts'
import type { DeclaredOperation } from '../operations.ts'
import type { Sides } from './sides.ts'

/** Time that callers have between the announcement of a sunset and the sunset. */
const NOTICE_DAYS = 90
/** From the least to the most stable. */
const STABILITY = ['draft', 'alpha', 'beta', 'stable']

export function comparePolicies(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  compareSunsets(sides, before, after)
  const [was, is] = [before, after].map(({ fields }) => STABILITY.indexOf(String(fields['x-stability-level'])))
  if (was === undefined || is === undefined || is >= was) return
  sides.report('operation.stability.lowered', {
    pointer: is < 0 ? after.pointer : `${after.pointer}/x-stability-level`,
    previousPointer: `${before.pointer}/x-stability-level`,
    detail: `${STABILITY[was]} to ${STABILITY[is] ?? 'none'}`,
  })
}

function compareSunsets({ report, nowMs }: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  if (after.fields['deprecated'] !== true) return
  const [was, is] = [before.fields['x-sunset'], after.fields['x-sunset']]
  const places = { pointer: after.pointer, previousPointer: before.pointer }
  const sunsetMs = Date.parse(String(is))
  if (Number.isNaN(sunsetMs)) {
    const isNew = before.fields['deprecated'] !== true || was !== undefined
    if (isNew) report('operation.sunset.missing', places)
  } else if (is !== was && sunsetMs - nowMs < NOTICE_DAYS * DAY_MS) {
    report('operation.sunset.near', { ...places, pointer: `${after.pointer}/x-sunset`, detail: String(is) })
  }
}
