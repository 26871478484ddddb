/**
 * Grants from one budget: the arithmetic that keeps the sum of all leases within the declaration.
 *
 * - Total: the sum of what nodes have used and hold never exceeds the window's value. Nothing expires before the window ends.
 * - Rate: level + leases ≤ capacity. Only the level leaks. A leased call becomes part of the level when its node reports it as used,
 *   or when the lease expires. Calls admitted in any interval are held at its begin or granted in it, so their number is bounded by
 *   the capacity and what leaked in the interval, whenever in it they were admitted.
 * - Concurrent: the sum of slots never exceeds the value. Slots of a silent node are free after their expiry and the longest call.
 *
 * A generation that began with unknown leases grants from a window that may be older only after all nodes have reported. A rate then
 * begins full, and slots wait as long as an old lease can last.
 */

import { levelAt } from '../../foundation/domain/gcra.ts'
import type { ConcurrentState, CounterState, Generation, RateState, TotalState } from './grantor-state.ts'
import type { ConcurrentBudget, LeaseGrant, LeaseItem, RateBudget, TotalBudget } from './lease-messages.ts'
import type { LeaseTimings } from './lease-timings.ts'

export interface GrantContext {
  readonly node: string
  readonly session: number
  /** The request was executed before: its grant is repeated and nothing changes. */
  readonly isReplay: boolean
  readonly generation: Generation
  readonly floorMs: number
  readonly ceilMs: number
  readonly timings: LeaseTimings
}

interface Versioned {
  readonly version: number
}

interface Known extends Versioned {
  readonly versionMs: number
}

/** The limit that holds, with the time of the latest request that carried its version. */
interface Newest<Limit> {
  readonly limit: Limit
  readonly versionMs: number
}

export interface ItemResult {
  /** Null if the counter needs no state. */
  readonly state: CounterState | null
  readonly grant: LeaseGrant
}

const NOTHING: LeaseGrant = { granted: 0, free: 0, isOpen: false }

/** Returns the new state and the grant. `before` is not modified. */
export function grantItem(before: CounterState | null, item: LeaseItem, context: GrantContext): ItemResult {
  const known = before?.epoch === context.generation.epoch ? before : null
  switch (item.budget.kind) {
    case 'total':
      return grantTotal(known as TotalState | null, item, item.budget, context)
    case 'rate':
      return grantRate(known as RateState | null, item, item.budget, context)
    case 'concurrent':
      return grantSlots(known as ConcurrentState | null, item, item.budget, context)
    default:
      return item.budget satisfies never
  }
}

function grantTotal(known: TotalState | null, item: LeaseItem, budget: TotalBudget, context: GrantContext): ItemResult {
  const { generation, node, isReplay, floorMs, timings } = context
  if (floorMs >= budget.endMs) return { state: null, grant: NOTHING }
  const { limit, versionMs } = newest(known, budget, context)
  const { version, value } = limit
  const claims = { ...known?.claims }
  const reported = item.used + item.held
  if (!isReplay) claims[node] = reported
  const free = Math.max(0, value - sum(Object.values(claims)))
  const isUnknown = !isReady(generation) && budget.startMs <= unknownUntilMs(generation) + timings.windowMarginMs
  const isOpen = floorMs >= budget.startMs && !isUnknown
  const opens = isUnknown ? opensAt(budget.endMs, context) : {}
  if (isReplay) {
    return { state: known, grant: { granted: Math.max(0, (claims[node] ?? 0) - reported), free, isOpen, ...opens } }
  }
  const granted = isOpen ? share(item, free, Object.keys(claims).length) : 0
  claims[node] = reported + granted
  const state = { epoch: generation.epoch, version, versionMs, value, claims }
  return { state, grant: { granted, free: isOpen ? free - granted : 0, isOpen, ...opens } }
}

function grantRate(known: RateState | null, item: LeaseItem, budget: RateBudget, context: GrantContext): ItemResult {
  const { generation, node, session, isReplay, floorMs, ceilMs, timings } = context
  const beganMs = rateBeganMs(generation, timings)
  if (beganMs === null || floorMs < beganMs) return { state: null, grant: NOTHING }
  const { limit, versionMs } = newest(known, budget, context)
  const { step, capacity } = limit
  const from = known ?? newRate(generation, beganMs, { ...budget, versionMs })
  const state = drain(from, { ...limit, versionMs }, floorMs)
  const own = state.leases[node] ?? { held: 0, used: item.used, session, untilMs: 0 }
  if (!isReplay) {
    const reported = own.session === session ? Math.max(0, item.used - own.used) : own.held
    const spent = Math.min(own.held, reported)
    state.level += spent * step
    state.sinceMs = Math.max(state.sinceMs, ceilMs)
    const held = Math.min(item.held, own.held - spent)
    state.leases[node] = { held, used: item.used, session, untilMs: floorMs + timings.leaseMs + timings.marginMs }
  }
  const leased = sum(Object.values(state.leases).map(({ held }) => held))
  const free = Math.max(0, Math.floor((capacity - state.level) / step) - leased)
  if (isReplay) return { state: known, grant: { granted: own.held - item.held, free, isOpen: true } }
  const granted = share(item, free, Object.keys(state.leases).length)
  const lease = state.leases[node]!
  lease.held += granted
  return { state, grant: { granted: lease.held - item.held, free: free - granted, isOpen: true } }
}

type RateLimit = Pick<RateState, 'version' | 'versionMs' | 'step' | 'leak' | 'capacity'>

/** Copies a rate with what leaked since, in the units of the budget, and with expired leases as part of the level. */
function drain(from: RateState, { version, versionMs, step, leak, capacity }: RateLimit, floorMs: number): RateState {
  const stored = from.step === step ? from.level : Math.ceil((from.level / from.step) * step)
  let level = levelAt(stored, from.sinceMs, floorMs, leak)
  const leases: RateState['leases'] = {}
  for (const [node, lease] of Object.entries(from.leases)) {
    if (lease.untilMs <= floorMs) level += lease.held * step
    else leases[node] = { ...lease }
  }
  const sinceMs = Math.max(from.sinceMs, floorMs)
  return { epoch: from.epoch, version, versionMs, step, leak, capacity, level, sinceMs, leases }
}

function newRate({ epoch, isFirst }: Generation, beganMs: number, limit: RateLimit): RateState {
  const { version, versionMs, step, leak, capacity } = limit
  const level = isFirst ? 0 : capacity
  return { epoch, version, versionMs, step, leak, capacity, level, sinceMs: beganMs, leases: {} }
}

/** Returns when the last lease of the generation before had ended; null if that is not known yet. */
function rateBeganMs({ readyMs, startMs }: Generation, { leaseMs, marginMs }: LeaseTimings): number | null {
  const expiredMs = startMs + leaseMs + marginMs
  return readyMs > 0 && readyMs < expiredMs ? readyMs : expiredMs
}

function grantSlots(
  known: ConcurrentState | null,
  item: LeaseItem,
  budget: ConcurrentBudget,
  context: GrantContext,
): ItemResult {
  const { generation, node, isReplay, floorMs, timings } = context
  const { limit, versionMs } = newest(known, budget, context)
  const { version, value } = limit
  const lastingMs = timings.leaseMs + timings.marginMs + budget.callMsMax
  const leases: ConcurrentState['leases'] = {}
  for (const [name, lease] of Object.entries(known?.leases ?? {})) {
    if (lease.untilMs > floorMs) leases[name] = { ...lease }
  }
  if (!isReplay) leases[node] = { held: item.held, untilMs: floorMs + lastingMs }
  const unused = value - sum(Object.values(leases).map(({ held }) => held))
  const free = Math.max(0, unused)
  const knownMs = unknownUntilMs(generation) + lastingMs
  const isOpen = isReady(generation) || floorMs >= knownMs
  const opens = isOpen ? {} : opensAt(knownMs, context)
  const state = { epoch: generation.epoch, version, versionMs, value, leases }
  // Calls that run keep their slots after the limit was lowered, but no other call may take them.
  if (unused < 0) return { state, grant: { granted: 0 - Math.min(item.held, -unused), free, isOpen, ...opens } }
  if (isReplay) {
    return { state, grant: { granted: Math.max(0, (leases[node]?.held ?? 0) - item.held), free, isOpen, ...opens } }
  }
  const granted = isOpen ? share(item, free, Object.keys(leases).length) : 0
  leases[node]!.held += granted
  return { state, grant: { granted, free: isOpen ? free - granted : 0, isOpen, ...opens } }
}

/**
 * Returns the limit of the newest declaration: that of `known`, or of the request. A version that no request has carried for `keepMs`
 * is dropped: no node holds anything that was granted under it, and the registry may have been restored to a point before it.
 */
function newest<State extends Known, Budget extends Versioned>(
  known: State | null,
  budget: Budget,
  { floorMs, timings }: GrantContext,
): Newest<State | Budget> {
  const isKnown = known !== null && known.version > budget.version && floorMs - known.versionMs < timings.keepMs
  return isKnown ? { limit: known, versionMs: known.versionMs } : { limit: budget, versionMs: floorMs }
}

/** Returns until when nodes that have not reported may have admitted calls. */
export function unknownUntilMs({ waiting, ended, startMs }: Generation): number {
  return Math.max(...Object.keys(waiting).map((name) => ended[name] ?? startMs))
}

/**
 * Nodes that run report within some seconds: until those have passed, nothing says that it takes longer. Slices open at any time, once
 * the nodes in the list have reported.
 */
function opensAt(latestMs: number, { generation, floorMs, timings }: GrantContext): { readonly opensInMs?: number } {
  const isSoon = timings.silentMs === null || floorMs < generation.startMs + timings.leaseMs
  return isSoon ? {} : { opensInMs: Math.max(1, latestMs - floorMs) }
}

function isReady({ readyMs }: Generation): boolean {
  return readyMs > 0
}

/** Returns how much of `free` one of several nodes gets: half of an equal share, so that leases shrink to 1 as the budget ends. */
function share({ want, least = 1 }: LeaseItem, free: number, nodes: number): number {
  const most = Math.min(want, free, Math.max(least, Math.floor(free / (2 * nodes))))
  return most < least ? 0 : most
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
