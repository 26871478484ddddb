/** Calls that wait for a lease, and what an exchange changes for them. */

import type { NodeMoment } from './lease-cell.ts'
import { ITEMS_MAX, type LeaseMessage } from './lease-messages.ts'
import type { LeaseNode } from './lease-node.ts'

export interface Wait {
  readonly key: string
  readonly calls: number
  readonly least: number
  /** Exchanges that carried the request. */
  grants: number
  /** Until then the call waits for exchanges that do not serve it. */
  readonly untilMs: number
  readonly resolve: (isReached: boolean) => void
}

export interface Exchanged {
  readonly message: LeaseMessage
  /** Whether the message was a request, and the grantor has granted what it could. */
  readonly isExecuted: boolean
}

/** Bounds the exchanges for a wait: other calls may take the leases again and again. */
const GRANTS_MAX = 16

/** A call waits until the grantor knows all leases, but not once that has lasted for this long. */
const CLOSED_MS_MAX = 2_000

/** Resolves the waits that an exchange has served, and returns the others, which take part in the next one. */
export function settle(
  exchanged: Exchanged | null,
  served: readonly Wait[],
  node: LeaseNode,
  moment: NodeMoment,
): readonly Wait[] {
  const isIdle = exchanged === null && node.isServing
  const message = exchanged?.isExecuted === true ? exchanged.message : null
  if (message === null && !isIdle) return keepInTime(served, node, moment)
  const request = message?.type === 'request' ? message : null
  const carried = new Set(request?.items.map(({ key }) => key))
  // A full message, and one that still reports what was used before, says nothing of those that it does not carry.
  const isPartial = request !== null && (carried.size >= ITEMS_MAX || !request.isSynced)
  return served.filter((wait) => {
    const counter = node.stateOf(wait.key)
    const isCarried = carried.has(wait.key)
    if (isClosed(wait, node) && (isCarried || !isPartial)) return keepWhileClosed(wait, node, moment)
    const isLacking = isCarried && ++wait.grants < GRANTS_MAX && counter?.mayGrantMore(wait.calls, moment) === true
    if (isLacking) node.need(wait.key, wait.calls, moment, wait.least)
    const isUnserved = isLacking || (isPartial && !isCarried)
    if (!isUnserved) wait.resolve(true)
    return isUnserved
  })
}

/** Whether the grantor has not said yet whether it can serve a wait, because it does not know all leases. */
export function isClosed({ key, calls }: Wait, node: LeaseNode): boolean {
  return calls > 0 && (node.stateOf(key)?.closedSinceMs ?? null) !== null
}

function keepWhileClosed(wait: Wait, node: LeaseNode, moment: NodeMoment): boolean {
  const sinceMs = node.stateOf(wait.key)?.closedSinceMs ?? 0
  const mayWait = moment.monotonicMs < Math.min(wait.untilMs, sinceMs + CLOSED_MS_MAX)
  if (mayWait) node.need(wait.key, wait.calls, moment, wait.least)
  else wait.resolve(true)
  return mayWait
}

/** Keeps those that have time left, unless a generation must begin first. */
export function keepInTime(waits: readonly Wait[], node: LeaseNode, { monotonicMs }: NodeMoment): readonly Wait[] {
  return waits.filter((wait) => {
    const mayWait = node.openAbove === null && monotonicMs < wait.untilMs
    if (!mayWait) wait.resolve(false)
    return mayWait
  })
}

export function rejectAll(waits: readonly Wait[]): void {
  for (const { resolve } of waits) resolve(false)
}
