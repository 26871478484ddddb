/** Random messages of nodes to the grantor of slices, with its replies: the state is rewound now and then, and the list of nodes changes. */

import type { LeaseItem, LeaseMessage, LeaseReply } from '../../../src/boundary/leases/lease-messages.ts'
import type { LeaseTimings } from '../../../src/boundary/leases/lease-timings.ts'
import {
  grantSlices,
  type SliceCounter,
  type SliceGeneration,
  type SliceRequest,
} from '../../../src/boundary/leases/slice-grantor.ts'
import { createRandom, type Random } from '../../random.ts'

export interface SliceStep {
  /** Clock of the server, in microseconds. */
  readonly nowMicros: number
  readonly runId: string
  readonly listed: readonly string[]
  /** What happens to the database before the message. */
  readonly before: 'nothing' | 'saved' | 'rewound'
  readonly sender: string
  readonly message: LeaseMessage
  readonly reply: LeaseReply
}

interface Stored {
  generation: SliceGeneration | null
  readonly last: Map<string, SliceRequest>
  readonly counters: Map<string, SliceCounter>
}

export const SENDERS = ['a', 'b', 'name b', 'node with "quotes"'] as const
const KEYS = ['quota', 'day', 'of a limit named \0 \ud800', `long ${'x'.repeat(9_000)}`]
const DAY_MS = 86_400_000

export function createSliceHistory(seed: number, steps: number, timings: LeaseTimings): readonly SliceStep[] {
  const random = createRandom(seed)
  const history: SliceStep[] = []
  const committed = new Map<string, SliceRequest>()
  const held = new Map<string, number>()
  let stored: Stored = { generation: null, last: new Map(), counters: new Map() }
  let saved = structuredClone(stored)
  let nowMicros = 1_700_006_300_000_000 + random.below(1_000_000)
  let listed: readonly string[] = SENDERS
  let run = 1
  for (let step = 0; step < steps; step++) {
    nowMicros += random.below(random.below(10) === 0 ? 9_000_000 : 20_000) - (random.below(30) === 0 ? 500_000 : 0)
    if (random.below(20) === 0) listed = SENDERS.filter(() => random.below(3) > 0)
    const before = (['saved', 'rewound'] as const)[random.below(60)] ?? 'nothing'
    if (before === 'saved') saved = structuredClone(stored)
    if (before === 'rewound') stored = structuredClone(saved)
    if (random.below(before === 'rewound' ? 2 : 150) === 0) run++
    const moment = { nowMs: nowMicros / 1_000, runId: `run${run}`, listed }
    const sender = SENDERS[random.below(SENDERS.length)]!
    const message = pickMessage(random, sender, stored.generation?.epoch ?? 0, moment, step, held)
    const reply = execute(stored, message, moment, sender, committed, timings)
    if (message.type === 'request' && reply.type === 'granted') {
      message.items.forEach(({ key, held: most }, index) =>
        held.set(`${message.node} ${key}`, Math.max(0, most + reply.grants[index]!.granted)),
      )
    }
    history.push({ nowMicros, runId: moment.runId, listed, before, sender, message, reply })
  }
  return history
}

function execute(
  stored: Stored,
  message: LeaseMessage,
  moment: { readonly nowMs: number; readonly runId: string; readonly listed: readonly string[] },
  sender: string,
  committed: Map<string, SliceRequest>,
  timings: LeaseTimings,
): LeaseReply {
  const { generation, counters } = stored
  const state = { generation, last: stored.last.get(sender) ?? null, counters }
  const reply = grantSlices(state, message, moment, { name: sender, committed: committed.get(sender) ?? null }, timings)
  stored.generation = state.generation
  if (state.last !== null) stored.last.set(sender, state.last)
  if (message.type === 'request' && reply.type === 'granted') committed.set(sender, message)
  return reply
}

function pickMessage(
  random: Random,
  node: string,
  epoch: number,
  { nowMs, runId }: { readonly nowMs: number; readonly runId: string },
  step: number,
  held: ReadonlyMap<string, number>,
): LeaseMessage {
  const kind = epoch === 0 ? 1 + random.below(2) : random.below(40)
  if (kind === 0) return { type: 'hello' }
  if (kind <= 2) {
    const members = SENDERS.filter(() => random.below(2) === 0)
    const notAfterMs = Math.floor(nowMs) + random.below(20) * 10 - 10
    const next = Math.max(1, epoch + random.below(3))
    return { type: 'open', epoch: next, runId, isFirst: random.below(2) === 0, members, notAfterMs }
  }
  return {
    type: 'request',
    node,
    session: 1 + Math.floor(step / 100),
    sequence: random.below(20) === 0 ? step - random.below(20) : step,
    epoch: random.below(30) === 0 ? epoch + 1 : epoch,
    notBeforeMs: Math.floor(nowMs) - random.below(30),
    notAfterMs: Math.ceil(nowMs) + random.below(30) - (random.below(20) === 0 ? 40 : 0),
    isSynced: random.below(3) > 0,
    items: KEYS.filter(() => random.below(2) === 0).map((key) => pickItem(random, node, key, nowMs, held)),
  }
}

function pickItem(
  random: Random,
  node: string,
  key: string,
  nowMs: number,
  known: ReadonlyMap<string, number>,
): LeaseItem {
  const lengthMs = key === 'day' ? DAY_MS : 5_000
  const at = Math.floor(nowMs) + (random.below(20) === 0 ? lengthMs : 0)
  const startMs = at - (at % lengthMs)
  const value = [7, 100, 1_000_003, Number.MAX_SAFE_INTEGER][random.below(4)]!
  const version = 1 + random.below(3)
  const most = known.get(`${node} ${key}`) ?? 0
  const want = random.below(3) === 0 ? 0 : random.below(30)
  return {
    key,
    budget: { kind: 'total', version, value, startMs, endMs: startMs + lengthMs },
    held: random.below(5) === 0 ? random.below(10) : random.below(Math.min(most, 1_000) + 1),
    used: random.below(40),
    want: random.below(10) === 0 ? want * 10 ** 14 : want,
    ...(random.below(2) === 0 ? { least: 1 + random.below(9) } : {}),
  }
}
