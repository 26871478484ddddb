/**
 * Counts an admitted call from its record exactly as the decision did, so that counters survive the process.
 *
 * A call counts at the time of its decision, while records arrive in the order in which calls ended. A record of a past window changes
 * nothing. A late record raises the level of a bucket as much as a timely one, or slightly more if the bucket was empty in between.
 */

import { createCalendar } from '../foundation/domain/calendar.ts'
import type { CompiledSla } from './compiled-sla.ts'
import { applying } from './limit-decision.ts'
import { replay } from './limit-kinds.ts'
import { replayQuota } from './quota-limit.ts'

export type Replay = (
  sla: CompiledSla,
  doubles: Float64Array,
  operation: number,
  atMs: number,
  unitsMicro: number,
) => void

export function createReplay(): Replay {
  const calendar = createCalendar()
  return ({ groups, quota }, doubles, operation, atMs, unitsMicro) => {
    const dayMs = atMs - calendar.start('day', atMs)
    const ofOperation = groups[operation]!
    for (let index = 0; index < ofOperation.length; index++) {
      const limit = applying(ofOperation[index]!, dayMs)
      if (limit !== null) replay(limit, doubles, atMs, calendar)
    }
    if (quota !== null) replayQuota(quota, doubles, atMs, unitsMicro, calendar)
  }
}
