/**
 * The grantor of leases as a function of its state, the message and the time: the definition of the script in Redis.
 *
 * A generation is one life of the data. Requests of another one are not executed, so that a server that restarted empty, or from a
 * snapshot, or whose clock was set, cannot grant again what it granted before.
 */

import { grantItem, unknownUntilMs } from './grant-item.ts'
import { placeOf, type Generation, type GrantorState } from './grantor-state.ts'
import type { GenerationReply, LeaseMessage, LeaseReply, LeaseRequest, OpenMessage } from './lease-messages.ts'
import type { LeaseTimings } from './lease-timings.ts'

export interface GrantorMoment {
  /** Clock of the server, which may have fractions. */
  readonly nowMs: number
  /** Random id of the server's process. */
  readonly runId: string
}

/** Nodes that serve send a request more often, so that only pauses without any node, and steps of the clock, are longer. */
export const OBSERVED_MS_MAX = 1_000
/** The longest window that is granted by a server which may lose its data. */
export const WINDOW_MS_MAX = 3_600_000

/** Executes a message. Modifies `state`. */
export function grant(
  state: GrantorState,
  message: LeaseMessage,
  moment: GrantorMoment,
  timings: LeaseTimings,
): LeaseReply {
  const stored = state.generation
  const current = stored?.runId === moment.runId ? stored : null
  switch (message.type) {
    case 'hello':
      return toReply(current, moment)
    case 'open':
      return openGeneration(state, current, message, moment, timings)
    case 'request':
      return current?.epoch === message.epoch
        ? execute(state, current, message, moment, timings)
        : toReply(current, moment)
    default:
      return message satisfies never
  }
}

function openGeneration(
  state: GrantorState,
  current: Generation | null,
  { epoch, runId, isFirst, members, ended = {}, notAfterMs }: OpenMessage,
  moment: GrantorMoment,
  timings: LeaseTimings,
): LeaseReply {
  const startMs = Math.ceil(moment.nowMs)
  const isLate = startMs > notAfterMs || (current !== null && epoch <= current.epoch)
  if (runId !== moment.runId || isLate) return toReply(current, moment)
  // A node may have registered after the list was read, and have leases of the generation that ends now.
  const names = [...members, ...Object.keys(current?.nodes ?? {}), ...Object.keys(current?.waiting ?? {})]
  const isNew = isFirst && current === null
  const waiting = isNew ? {} : toWaiting(names, current, timings)
  state.generation = {
    epoch,
    runId,
    startMs,
    isFirst: isNew,
    waiting,
    // A node that this server has heard may run on after it was removed.
    ended: current === null ? endsOf(Object.keys(waiting), ended, startMs) : {},
    readyMs: Object.keys(waiting).length === 0 ? startMs : 0,
    confirmations: 0,
    lastMs: startMs,
    observedMs: 0,
    nodes: {},
  }
  return { ...toReply(state.generation, moment), isOpener: true }
}

function endsOf(names: readonly string[], agoMs: Readonly<Record<string, number>>, startMs: number) {
  return Object.fromEntries(names.flatMap((name) => (agoMs[name] === undefined ? [] : [[name, startMs - agoMs[name]]])))
}

/** Leaves out nodes of which everything has ended by now that they can have held at their latest request. */
function toWaiting(names: readonly string[], current: Generation | null, { silentMs }: LeaseTimings) {
  const silences = names.map((name) => [name, silenceOf(name, current)] as const)
  return Object.fromEntries(silences.filter(([, forMs]) => silentMs === null || forMs < silentMs))
}

function silenceOf(name: string, current: Generation | null): number {
  if (current === null) return 0
  const { nodes, waiting, observedMs } = current
  const last = nodes[name]
  if (last !== undefined) return observedMs - last.heardMs
  const before = waiting[name]
  return before === undefined ? 0 : before + observedMs
}

function execute(
  state: GrantorState,
  generation: Generation,
  { node, session, sequence, notBeforeMs, notAfterMs, isSynced, isLast = false, items }: LeaseRequest,
  moment: GrantorMoment,
  timings: LeaseTimings,
): LeaseReply {
  const { nowMs } = moment
  const floorMs = Math.floor(nowMs)
  const ceilMs = Math.ceil(nowMs)
  if (floorMs < notBeforeMs || ceilMs > notAfterMs) return { type: 'clock', nowMs: floorMs }
  const last = generation.nodes[node] ?? { session: 0, sequence: 0, heardMs: 0 }
  const isOlder = session < last.session || (session === last.session && sequence < last.sequence)
  if (isOlder) return { type: 'stale', nowMs: floorMs }
  const isReplay = session === last.session && sequence === last.sequence
  const context = { node, session, isReplay, generation, floorMs, ceilMs, timings }
  const grants = items.map((item) => {
    const place = placeOf(item.key, item.budget)
    const result = grantItem(state.counters.get(place) ?? null, item, context)
    if (result.state !== null && !isReplay) state.counters.set(place, result.state)
    return result.grant
  })
  generation.observedMs += Math.max(0, Math.min(OBSERVED_MS_MAX, floorMs - generation.lastMs))
  generation.lastMs = floorMs
  if (isLast) delete generation.nodes[node]
  else generation.nodes[node] = { session, sequence, heardMs: generation.observedMs }
  generation.confirmations++
  if (isSynced) markSynced(generation, node, ceilMs)
  return { type: 'granted', nowMs: floorMs, grants, waiting: waitingIn(generation, floorMs, timings) }
}

/** Returns nothing once no window can be open that began before the nodes were silent. */
function waitingIn(
  generation: Generation,
  floorMs: number,
  { silentMs, windowMarginMs }: LeaseTimings,
): readonly string[] {
  const endsMs = unknownUntilMs(generation) + WINDOW_MS_MAX + 2 * windowMarginMs
  return silentMs === null || floorMs < endsMs ? Object.keys(generation.waiting).sort() : []
}

function markSynced(generation: Generation, node: string, ceilMs: number): void {
  delete generation.waiting[node]
  if (generation.readyMs === 0 && Object.keys(generation.waiting).length === 0) generation.readyMs = ceilMs
}

function toReply(generation: Generation | null, { nowMs, runId }: GrantorMoment): GenerationReply {
  return {
    type: 'generation',
    nowMs: Math.floor(nowMs),
    runId,
    epoch: generation?.epoch ?? 0,
    confirmations: generation?.confirmations ?? 0,
    isOpener: false,
  }
}
