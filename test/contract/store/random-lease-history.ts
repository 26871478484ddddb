/** Random messages of nodes to the grantor, with its replies: reports that fit what was granted, and some that do not. */

import { toBucket } from '../../../src/foundation/domain/gcra.ts'
import { grant } from '../../../src/boundary/leases/grantor.ts'
import { createGrantorState } from '../../../src/boundary/leases/grantor-state.ts'
import type { LeaseBudget, LeaseItem, LeaseMessage, LeaseReply } from '../../../src/boundary/leases/lease-messages.ts'
import type { LeaseTimings } from '../../../src/boundary/leases/lease-timings.ts'
import { createRandom, type Random } from '../../random.ts'

export interface HistoryStep {
  /** Clock of the server, in microseconds. */
  readonly nowMicros: number
  readonly runId: string
  /** Whether the server restarted empty before the message. */
  readonly isEmptied: boolean
  readonly message: LeaseMessage
  readonly reply: LeaseReply
}

const NODES = ['a', 'b', '1', 'node with "quotes"']
/** Sends nothing. */
const GONE = 'gone'
const KEYS = ['total', 'hour', 'rate', 'fast rate', 'slots']

export function createLeaseHistory(seed: number, steps: number, timings: LeaseTimings): readonly HistoryStep[] {
  const random = createRandom(seed)
  const held = new Map<string, number>()
  const history: HistoryStep[] = []
  let state = createGrantorState()
  let nowMicros = 1_700_000_000_000_000 + random.below(1_000_000)
  let run = 1
  for (let step = 0; step < steps; step++) {
    nowMicros += random.below(random.below(10) === 0 ? 3_000_000 : 20_000) - (random.below(30) === 0 ? 500_000 : 0)
    const isRestart = step > 0 && random.below(60) === 0
    const isEmptied = isRestart && random.below(2) === 0
    if (isRestart) run++
    if (isEmptied) state = createGrantorState()
    const moment = { nowMs: nowMicros / 1_000, runId: `run${run}` }
    const last = history.at(-1)?.message
    const isRepeat = last !== undefined && random.below(10) === 0
    const message = isRepeat ? last : pickMessage(random, state.generation?.epoch ?? 0, moment, step, held)
    const reply = grant(state, message, moment, timings)
    if (message.type === 'request' && reply.type === 'granted') {
      message.items.forEach(({ key, held: before }, index) =>
        held.set(`${message.node} ${key}`, Math.max(0, before + reply.grants[index]!.granted)),
      )
    }
    history.push({ nowMicros, runId: moment.runId, isEmptied, message, reply })
  }
  return history
}

function pickMessage(
  random: Random,
  epoch: number,
  { nowMs, runId }: { readonly nowMs: number; readonly runId: string },
  step: number,
  held: ReadonlyMap<string, number>,
): LeaseMessage {
  const kind = epoch === 0 ? 1 + random.below(2) : random.below(40)
  if (kind === 0) return { type: 'hello' }
  if (kind === 1) {
    const members = [...NODES.slice(0, random.below(NODES.length + 1)), ...(random.below(4) === 0 ? [GONE] : [])]
    const notAfterMs = Math.floor(nowMs) + random.below(20) * 10 - 10
    const ended = Object.fromEntries(
      members.filter(() => random.below(3) === 0).map((name) => [name, random.below(3_000)]),
    )
    const isFirst = random.below(2) === 0
    return { type: 'open', epoch: epoch + random.below(3), runId, isFirst, members, ended, notAfterMs }
  }
  const node = NODES[random.below(NODES.length)]!
  const items = KEYS.filter(() => random.below(2) === 0).map((key) => pickItem(random, node, key, nowMs, held))
  return {
    type: 'request',
    node,
    session: 1 + Math.floor(step / 100),
    sequence: random.below(20) === 0 ? step - random.below(20) : step,
    epoch: random.below(30) === 0 ? epoch + 1 : epoch,
    ...(random.below(30) === 0 && { isLast: true }),
    notBeforeMs: Math.floor(nowMs) - random.below(30),
    notAfterMs: Math.ceil(nowMs) + random.below(30) - (random.below(20) === 0 ? 40 : 0),
    isSynced: random.below(3) > 0,
    items,
  }
}

function pickItem(
  random: Random,
  node: string,
  key: string,
  nowMs: number,
  known: ReadonlyMap<string, number>,
): LeaseItem {
  const budget = pickBudget(random, key, nowMs)
  const most = known.get(`${node} ${key}`) ?? 0
  const held = random.below(5) === 0 ? random.below(10) : random.below(most + 1)
  const used = budget.kind === 'concurrent' ? 0 : random.below(40)
  const want = random.below(3) === 0 ? 0 : random.below(30)
  return { key, budget, held, used, want, ...(random.below(3) === 0 ? { least: 1 + random.below(9) } : {}) }
}

function pickBudget(random: Random, key: string, nowMs: number): LeaseBudget {
  const version = 1 + random.below(3)
  const value = [7, 100, 1_000_003][random.below(3)]!
  if (key === 'slots') return { kind: 'concurrent', version, value: 1 + random.below(20), callMsMax: 5_000 }
  if (key === 'rate') return { kind: 'rate', version, ...toBucket(value, 60_000) }
  if (key === 'fast rate') return { kind: 'rate', version, ...toBucket(value, 1_000) }
  const lengthMs = key === 'hour' ? 3_600_000 : 3_000
  const at = Math.floor(nowMs) + (random.below(20) === 0 ? lengthMs : 0)
  const startMs = at - (at % lengthMs)
  return { kind: 'total', version, value, startMs, endMs: startMs + lengthMs }
}
