/** Which service levels of revisions are compared. */

import { MINUTE_MS } from '../../../../foundation/domain/calendar.ts'
import type { Item } from '../../api/operations.ts'

type Level = Item<'/v1/proxies/:id/levels'>

/** Less than the API measures at once, because the page stays open. */
const SPAN_MS_MAX = 30 * 86_400_000

/** Levels are kept by minute: the one in which the canary began is included. */
export function levelsFrom(since: string, nowMs: number): string {
  const fromMs = Math.max(Date.parse(since), nowMs - SPAN_MS_MAX)
  return new Date(Math.floor(fromMs / MINUTE_MS) * MINUTE_MS).toISOString()
}

/** A row for each of the revisions, also for one that was not called. */
export function rowsOf(levels: readonly Level[], revisions: readonly number[]): readonly Level[] {
  return revisions.map((revision) => levels.find((each) => each.revision === revision) ?? uncalled(revision))
}

function uncalled(revision: number): Level {
  const latency = { meanMs: null, p50Ms: null, p95Ms: null, p99Ms: null }
  return {
    revision,
    fate: null,
    calls: 0,
    unanswered: 0,
    errors: 0,
    availabilityPercent: null,
    errorPercent: null,
    latency,
  }
}
