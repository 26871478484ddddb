/**
 * The grantor of slices: leases of totals of a day or longer, and of quotas, from a database that keeps what it committed.
 *
 * It executes messages as the grantor of leases does, on state that was read and is written in one transaction. A restart of the
 * database begins no generation; only a rewind does, because windows of months cannot wait until they end. The database is rewound
 * if it belongs to another history (`runId`), or lacks a request that the sender knows to be committed. Claims outlast a generation, so
 * that those of a node that cannot report are as old as the database. Nothing is granted in open windows until every listed node has
 * reported. A node that is removed from the list is no longer waited for, and one that the old list lacks has a time to appear.
 */

import { grant } from './grantor.ts'
import { placeOf, type Generation, type GrantorState, type TotalState } from './grantor-state.ts'
import type { LeaseItem, LeaseMessage, LeaseReply } from './lease-messages.ts'
import type { LeaseTimings } from './lease-timings.ts'

export interface SliceGeneration {
  readonly epoch: number
  /** Empty once the generation has ended. */
  readonly runId: string
  readonly startMs: number
  readonly isFirst: boolean
  readonly readyMs: number
  readonly confirmations: number
  /** Names of the nodes that have not reported. */
  readonly waiting: readonly string[]
}

/** A request of a node. */
export interface SliceRequest {
  readonly epoch: number
  readonly session: number
  readonly sequence: number
}

export interface SliceCounter {
  readonly endMs: number
  /** Generation in which `version` and `value` were declared. */
  readonly epoch: number
  readonly version: number
  /** Clock at the latest request with this version. */
  readonly versionMs: number
  readonly value: number
  /** Units that each identity has used or may still admit. */
  readonly claims: Readonly<Record<string, number>>
}

/** The stored state that a message concerns. */
export interface SliceState {
  /** Null before the first one. */
  generation: SliceGeneration | null
  /** The last request of the sender's identity. */
  last: SliceRequest | null
  /** By `placeOf`. */
  readonly counters: Map<string, SliceCounter>
}

export interface SliceMoment {
  readonly nowMs: number
  /** Names the history of the database. */
  readonly runId: string
  /** Names of the nodes in the list. */
  readonly listed: readonly string[]
}

export interface SliceSender {
  readonly name: string
  /** The last request that the sender knows to be committed. */
  readonly committed: SliceRequest | null
}

/** Stands for nodes that may still appear; no node has an empty name. */
const UNLISTED = ''
const NAME = 'name '

/** Executes a message of `sender`. Modifies `state`. */
export function grantSlices(
  state: SliceState,
  message: LeaseMessage,
  moment: SliceMoment,
  sender: SliceSender,
  timings: LeaseTimings,
): LeaseReply {
  const { generation } = state
  if (generation !== null && isRewound(state, sender)) state.generation = { ...generation, runId: UNLISTED }
  const identity = message.type === 'request' ? message.node : UNLISTED
  const grantor = toGrantorState(state, message, moment, sender, timings)
  const before = grantor.generation
  const reply = grant(grantor, toAllowed(message, state.generation, moment), moment, timings)
  if (grantor.generation === null || (reply.type === 'generation' && grantor.generation === before)) return reply
  state.generation = toSliceGeneration(grantor.generation, identity, sender.name)
  if (reply.type !== 'granted' || message.type !== 'request') return reply
  const { epoch, session, sequence } = message
  state.last = { epoch, session, sequence }
  for (const item of message.items) storeCounter(state, grantor, item, epoch)
  return { ...reply, waiting: state.generation.waiting }
}

function isRewound({ generation, last }: SliceState, { committed }: SliceSender): boolean {
  if (committed === null || generation === null || generation.epoch > committed.epoch) return false
  if (generation.epoch < committed.epoch || last?.epoch !== committed.epoch) return true
  const { session, sequence } = committed
  return last.session < session || (last.session === session && last.sequence < sequence)
}

/** A generation begins only after one that has ended. */
function toAllowed(message: LeaseMessage, stored: SliceGeneration | null, { runId }: SliceMoment): LeaseMessage {
  if (message.type !== 'open') return message
  const isFirst = message.isFirst && stored === null
  const isDue = stored === null || (stored.runId !== runId && message.epoch > stored.epoch)
  return isDue ? { ...message, isFirst, members: [UNLISTED, ...message.members].map(toKey) } : { type: 'hello' }
}

function toGrantorState(
  { generation, last, counters }: SliceState,
  message: LeaseMessage,
  { nowMs, listed }: SliceMoment,
  { name }: SliceSender,
  { windowMarginMs }: LeaseTimings,
): GrantorState {
  if (generation === null) return { generation: null, counters: new Map() }
  const { epoch } = generation
  const isRequest = message.type === 'request'
  const nodes = isRequest && last?.epoch === epoch ? { [message.node]: { ...last, heardMs: 0 } } : {}
  const isUnreported = isRequest && message.epoch === epoch && !message.isSynced
  const waiting = new Set(generation.waiting.filter((each) => each === name || listed.includes(each)))
  if (generation.readyMs === 0 && isUnreported) waiting.add(name)
  if (generation.readyMs === 0 && nowMs < generation.startMs + windowMarginMs) waiting.add(UNLISTED)
  const known = [...counters].map(([place, counter]) => [place, toTotal(counter, epoch)] as const)
  return {
    generation: {
      ...generation,
      lastMs: 0,
      observedMs: 0,
      nodes,
      ended: {},
      waiting: toKeys([...waiting], isRequest ? message.node : null, name),
    },
    counters: new Map(known),
  }
}

/** The sender is known by its identity, the others by their names. */
function toKeys(names: readonly string[], identity: string | null, sender: string): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name === sender && identity !== null ? identity : toKey(name), 0]))
}

const toKey = (name: string): string => `${NAME}${name}`

function toSliceGeneration(
  { epoch, runId, startMs, isFirst, readyMs, confirmations, waiting }: Generation,
  identity: string,
  sender: string,
): SliceGeneration {
  const names = Object.keys(waiting).map((key) => (key === identity ? sender : key.slice(NAME.length)))
  return { epoch, runId, startMs, isFirst, readyMs, confirmations, waiting: names.filter((name) => name !== UNLISTED) }
}

/** Declarations of another generation may be newer than what the registry holds now. */
function toTotal({ epoch: declared, version, ...counter }: SliceCounter, epoch: number): TotalState {
  const { versionMs, value, claims } = counter
  return { epoch, version: declared === epoch ? version : -1, versionMs, value, claims }
}

function storeCounter(
  { counters }: SliceState,
  grantor: GrantorState,
  { key, budget }: LeaseItem,
  epoch: number,
): void {
  if (budget.kind !== 'total') throw new TypeError('only totals are granted in slices')
  const place = placeOf(key, budget)
  const total = grantor.counters.get(place) as TotalState | undefined
  if (total === undefined) return
  const { version, versionMs, value, claims } = total
  const endMs = Math.max(counters.get(place)?.endMs ?? 0, budget.endMs)
  counters.set(place, { endMs, epoch, version, versionMs, value, claims })
}
