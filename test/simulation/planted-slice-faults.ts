/** Faults of slices, one each. The simulation must find every one of them, or it proves nothing. */

import type { LeaseItem, LeaseMessage } from '../../src/boundary/leases/lease-messages.ts'
import { grantSlices } from '../../src/boundary/leases/slice-grantor.ts'
import type { GrantSlices } from './slice-database.ts'
import type { PlantedSliceFault } from './slice-simulation.ts'

export const PLANTED_SLICE_FAULTS: Readonly<Record<string, () => PlantedSliceFault>> = {
  'a node keeps no journal': () => ({ keepsNoJournal: true }),
  'a lower limit is acknowledged before the excess is returned': () => ({ keepsExcess: true }),
  'a late reply is used': () => ({ acceptsLateReplies: true }),
  'what a call gives back stays with the node': () => ({ givesBackToNode: true }),
  'what a call gives back lowers the use of another window': () => ({ ignoresWindow: true }),
  'a database that went back continues its generation': () => ({ grant: ignoreHistory }),
  'a new generation grants before nodes have reported': () => ({ grant: grantAtOnce }),
  'an earlier report replaces a later one': () => ({ grant: ignoreOrder }),
  'a window that has ended begins anew when the clock is set back': () => ({ grant: forgetEnded }),
  'the units of a report are those since the report before': () => ({ grant: createRelativeReport() }),
  'a node is granted the least that it needs, whatever is free': () => ({ grant: grantLeast }),
}

function altering(alter: (message: LeaseMessage) => LeaseMessage): GrantSlices {
  return (state, message, ...rest) => grantSlices(state, alter(message), ...rest)
}

function withItems(message: LeaseMessage, alter: (item: LeaseItem) => LeaseItem): LeaseMessage {
  return message.type === 'request' ? { ...message, items: message.items.map(alter) } : message
}

const ignoreHistory: GrantSlices = (state, message, moment, sender, timings) => {
  const runId = 'history'
  const altered = message.type === 'open' ? { ...message, runId } : message
  return grantSlices(state, altered, { ...moment, runId }, { ...sender, committed: null }, timings)
}

const grantAtOnce: GrantSlices = (state, message, moment, sender, timings) => {
  const reply = grantSlices(state, message, moment, sender, timings)
  const { generation } = state
  if (generation !== null) state.generation = { ...generation, waiting: [], readyMs: generation.startMs }
  return reply
}

const ignoreOrder: GrantSlices = (state, ...rest) => {
  state.last = null
  return grantSlices(state, rest[0], rest[1], { ...rest[2], committed: null }, rest[3])
}

const forgetEnded: GrantSlices = (state, message, moment, sender, timings) => {
  for (const [place, { endMs }] of state.counters) if (endMs <= moment.nowMs) state.counters.delete(place)
  return grantSlices(state, message, moment, sender, timings)
}

function createRelativeReport(): GrantSlices {
  const used = new Map<string, number>()
  return altering((message) => {
    if (message.type !== 'request') return message
    return withItems(message, (item) => {
      const place = `${message.node} ${item.key} ${item.budget.kind === 'total' ? item.budget.startMs : 0}`
      const before = used.get(place) ?? 0
      used.set(place, item.used)
      return { ...item, used: Math.max(0, item.used - before) }
    })
  })
}

const grantLeast: GrantSlices = (state, message, ...rest) => {
  const reply = grantSlices(state, message, ...rest)
  if (reply.type !== 'granted' || message.type !== 'request') return reply
  const grants = reply.grants.map((grant, index) => ({
    ...grant,
    granted: grant.isOpen ? Math.max(grant.granted, message.items[index]!.least ?? 0) : grant.granted,
  }))
  return { ...reply, grants }
}
