/** Evidence of an episode: totals by status, reason and operation, and the latest calls. Bounded; `show` returns plain JSON. */

import type { RiskEvidence } from '../../foundation/domain/risk.ts'

export interface Evidence {
  readonly total: number
  add(call: {
    readonly status: number
    readonly reason: string
    readonly operation: string
    readonly requestId: string
    readonly channel?: 'mcp' | undefined
  }): void
  /** Adds the evidence of calls that were counted elsewhere. */
  merge(other: RiskEvidence): void
  show(): RiskEvidence
}

const REQUEST_IDS_MAX = 5
const NAMES_MAX = 50
/** Counts the names above the first fifty. */
const OTHERS = 'others'

export function createEvidence(saved?: RiskEvidence): Evidence {
  const statuses = new Map(Object.entries(saved?.statuses ?? {}))
  const reasons = new Map(Object.entries(saved?.reasons ?? {}))
  const operations = new Map(Object.entries(saved?.operations ?? {}))
  const channels = new Map(Object.entries(saved?.channels ?? {}))
  const requestIds = [...(saved?.requestIds ?? [])]
  let total = saved?.total ?? 0

  return {
    get total() {
      return total
    },
    add({ status, reason, operation, requestId, channel }) {
      total++
      if (status > 0) bump(statuses, String(status))
      bump(reasons, reason)
      bump(operations, operation)
      if (channel !== undefined) bump(channels, channel)
      if (requestId !== '' && requestIds.push(requestId) > REQUEST_IDS_MAX) requestIds.shift()
    },
    merge(other) {
      total += other.total
      merge(statuses, other.statuses)
      merge(reasons, other.reasons)
      merge(operations, other.operations)
      merge(channels, other.channels ?? {})
      requestIds.push(...other.requestIds)
      requestIds.splice(0, requestIds.length - REQUEST_IDS_MAX)
    },
    show: () => ({
      total,
      statuses: byNumber(statuses),
      reasons: Object.fromEntries(reasons),
      operations: Object.fromEntries(operations),
      ...(channels.size > 0 && { channels: Object.fromEntries(channels) }),
      requestIds: [...requestIds],
    }),
  }
}

/**
 * Converts counts with numeric names. If such members are assigned, V8 reserves an array element for each smaller number: 5 KB
 * for a status, times the ten thousand latest events in memory. `defineProperty` avoids that.
 */
function byNumber(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const members: Record<string, number> = {}
  for (const [name, value] of counts) Object.defineProperty(members, name, { value, enumerable: true })
  return members
}

function merge(counts: Map<string, number>, other: Readonly<Record<string, number>>): void {
  for (const [name, by] of Object.entries(other)) bump(counts, name, by)
}

function bump(counts: Map<string, number>, name: string, by = 1): void {
  const counted = counts.has(name) || counts.size < NAMES_MAX ? name : OTHERS
  counts.set(counted, (counts.get(counted) ?? 0) + by)
}
