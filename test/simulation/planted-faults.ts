/** Faults of the lease protocol, one each. The simulation must find every one of them, or it proves nothing. */

import { grant } from '../../src/boundary/leases/grantor.ts'
import type { RateState, TotalState } from '../../src/boundary/leases/grantor-state.ts'
import type { LeaseItem, LeaseMessage, LeaseReply } from '../../src/boundary/leases/lease-messages.ts'
import type { Planted } from './lease-simulation.ts'
import type { Grant } from './lease-server.ts'

export const PLANTED_FAULTS: Readonly<Record<string, () => Planted>> = {
  'a bucket drains while its calls are leased': () => ({ grant: drainWhileLeased }),
  'an earlier report replaces a later one': () => ({ grant: createUnorderedGrant() }),
  'a repeated return is counted twice': () => ({ grant: createDoubleReturn() }),
  'a report is relative to the one before': () => ({ grant: createRelativeReport() }),
  'a server that restarted continues its generation': () => ({ grant: ignoreGeneration }),
  'a new generation grants before nodes have reported': () => ({
    grant: altering((message) => (message.type === 'open' ? { ...message, members: [] } : message)),
  }),
  'a new generation begins with empty buckets': () => ({ grant: beginEmpty }),
  'slots are free when their lease ends, though calls still run': () => ({
    grant: altering((message) => withItems(message, shortenCalls)),
  }),
  'a stream runs on, on a node that is cut off': () => ({ keepsStreams: true }),
  'a late reply is used': () => ({ acceptsLateReplies: true }),
  'a node keeps no journal': () => ({ keepsNoJournal: true }),
  'a node uses leases that have ended': () => ({ ignoresExpiry: true }),
  'a lower limit is acknowledged before the excess is returned': () => ({ keepsExcess: true }),
  'a clock that was set goes unnoticed': () => ({ ignoresClocks: true }),
  'a node that has just started trusts the clock at once': () => ({ alterReply: createConfirmation() }),
}

/** Found by schedules in which nodes are removed from the list. */
export const PLANTED_REMOVAL_FAULTS: Readonly<Record<string, () => Planted>> = {
  'a node is forgotten before its leases have ended': () => ({ silentMs: 500 }),
  'a new generation forgets whom the one before waited for': () => ({ grant: forgetWaiting }),
  'a node is taken to have ended earlier than it did': () => ({ grant: altering(endEarlier) }),
}

function altering(alter: (message: LeaseMessage) => LeaseMessage): Grant {
  return (state, message, moment, timings) => grant(state, alter(message), moment, timings)
}

function endEarlier(message: LeaseMessage): LeaseMessage {
  if (message.type !== 'open') return message
  const ended = Object.entries(message.ended ?? {}).map(([name, agoMs]) => [name, agoMs + 60_000] as const)
  return { ...message, ended: Object.fromEntries(ended) }
}

function withItems(message: LeaseMessage, alter: (item: LeaseItem) => LeaseItem): LeaseMessage {
  return message.type === 'request' ? { ...message, items: message.items.map(alter) } : message
}

function shortenCalls(item: LeaseItem): LeaseItem {
  return item.budget.kind === 'concurrent' ? { ...item, budget: { ...item.budget, callMsMax: 0 } } : item
}

/** Charges the bucket when calls are leased, as if each were admitted at once. */
const drainWhileLeased: Grant = (state, message, moment, timings) => {
  const reply = grant(
    state,
    withItems(message, (item) => (item.budget.kind === 'rate' ? { ...item, held: 0 } : item)),
    moment,
    timings,
  )
  for (const counter of state.counters.values()) if (isRate(counter)) chargeLeases(counter)
  return reply
}

function chargeLeases(counter: RateState): void {
  for (const lease of Object.values(counter.leases)) {
    counter.level += lease.held * counter.step
    lease.held = 0
  }
}

/** Executes every request as if it were the latest of its node. */
function createUnorderedGrant(): Grant {
  let sequence = 1_000_000
  return altering((message) => (message.type === 'request' ? { ...message, sequence: sequence++ } : message))
}

/** Subtracts what a node has returned again when the message comes again. */
function createDoubleReturn(): Grant {
  const returned = new Map<string, number>()
  return (state, message, moment, timings) => {
    if (message.type !== 'request') return grant(state, message, moment, timings)
    const id = `${message.node} ${message.session} ${message.sequence}`
    const before = returned.get(id)
    const claims = claimsOf(state.counters, message.node)
    const reply = grant(state, message, moment, timings)
    const after = claimsOf(state.counters, message.node)
    if (before === undefined) returned.set(id, claims - after)
    else if (before > 0) lowerClaim(state.counters, message.node, before)
    return reply
  }
}

function claimsOf(counters: ReadonlyMap<string, object>, node: string): number {
  let sum = 0
  for (const counter of counters.values()) if (isTotal(counter)) sum += counter.claims[node] ?? 0
  return sum
}

function lowerClaim(counters: ReadonlyMap<string, object>, node: string, by: number): void {
  for (const counter of counters.values()) {
    const claim = isTotal(counter) ? counter.claims[node] : undefined
    if (isTotal(counter) && claim !== undefined) counter.claims[node] = Math.max(0, claim - by)
  }
}

/** Takes the used calls of a report for those since the report before. */
function createRelativeReport(): Grant {
  const used = new Map<string, number>()
  return altering((message) => {
    if (message.type !== 'request') return message
    return withItems(message, (item) => {
      if (item.budget.kind !== 'total') return item
      const place = `${message.node} ${item.key} ${item.budget.startMs}`
      const before = used.get(place) ?? 0
      used.set(place, item.used)
      return { ...item, used: item.used - before }
    })
  })
}

const ignoreGeneration: Grant = (state, message, moment, timings) => {
  const { generation } = state
  const runId = 'run'
  if (message.type === 'request' && generation?.epoch !== message.epoch) {
    state.generation = {
      epoch: message.epoch,
      runId,
      startMs: 0,
      isFirst: true,
      waiting: {},
      ended: {},
      readyMs: 1,
      confirmations: 0,
      lastMs: 0,
      observedMs: 0,
      nodes: {},
    }
  }
  const altered = message.type === 'open' ? { ...message, runId } : message
  return grant(state, altered, { ...moment, runId }, timings)
}

const beginEmpty: Grant = (state, message, moment, timings) => {
  const reply: LeaseReply = grant(state, message, moment, timings)
  if (state.generation?.isFirst === false) state.generation = { ...state.generation, isFirst: true }
  return reply
}

const forgetWaiting: Grant = (state, message, moment, timings) => {
  const before = state.generation
  if (before === null || message.type !== 'open') return grant(state, message, moment, timings)
  const forgetful = { ...before, waiting: {} }
  state.generation = forgetful
  const reply = grant(state, message, moment, timings)
  if (state.generation === forgetful) state.generation = before
  return reply
}

/** Makes every reply look as if another node had confirmed the clock since the one before. */
function createConfirmation(): (reply: LeaseReply) => LeaseReply {
  let added = 0
  return (reply) => (reply.type === 'generation' ? { ...reply, confirmations: reply.confirmations + ++added } : reply)
}

function isRate(counter: object): counter is RateState {
  return 'level' in counter
}

function isTotal(counter: object): counter is TotalState {
  return 'claims' in counter
}
