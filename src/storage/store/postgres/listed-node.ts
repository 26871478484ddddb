/** A node in the list, as its row describes it. */

import { LIVE_MS, type ListedNode } from '../nodes.ts'
import type { NodeRow } from './node-statements.ts'

export function toListed(row: NodeRow): ListedNode {
  const { incarnation, lineage, name, version, format, position, settings } = row
  const silentMs = Math.max(0, row.silent_ms)
  return {
    ...{ incarnation, lineage: lineage ?? incarnation, name, version, format, position, settings: settings ?? {} },
    registeredAtMs: row.registered_at_ms,
    silentMs,
    isLive: silentMs < LIVE_MS,
    staleAfterMs: row.stale_after_ms,
    clockOffsetMs: row.clock_offset_ms ?? 0,
    isReplaced: row.replaced,
  }
}
