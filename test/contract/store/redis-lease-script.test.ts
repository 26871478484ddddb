// @module-tag redis-server

import { isDeepStrictEqual } from 'node:util'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEASE_TIMINGS } from '../../../src/boundary/leases/lease-timings.ts'
import { decodeReply } from '../../../src/storage/store/redis/lease-codec.ts'
import { leaseScript } from '../../../src/storage/store/redis/lease-script.ts'
import { createRedisServer, type RedisServer } from '../../fixtures/redis-server.ts'
import { createLeaseHistory, type HistoryStep } from './random-lease-history.ts'

const HISTORIES = Number(process.env['HISTORIES'] ?? 60)
const STEPS = 300
/** Generations of a history are short: nodes that have missed some requests are silent, and versions are soon forgotten. */
const TIMINGS = { ...LEASE_TIMINGS, silentMs: 1_500, keepMs: 500 }
const CLOCK = 'test:clock'
const RUN_ID = 'test:run'

let server: RedisServer
let client: Redis

beforeAll(async () => {
  server = await createRedisServer()
  client = new Redis(server.url)
})

afterAll(async () => {
  client.disconnect()
  await server.remove()
})

const script = leaseScript(TIMINGS, {
  time: `redis.call('LRANGE', '${CLOCK}', 0, 1)`,
  runId: `redis.call('GET', '${RUN_ID}')`,
})

/** Executes a history on the server in one pipeline, and returns the raw replies. */
async function execute(history: readonly HistoryStep[], source = script): Promise<readonly unknown[]> {
  const pipeline = client.pipeline().flushall()
  let commands = 1
  const at: number[] = []
  for (const { nowMicros, runId, isEmptied, message } of history) {
    if (isEmptied) {
      pipeline.flushall()
      commands++
    }
    pipeline.del(CLOCK).rpush(CLOCK, Math.floor(nowMicros / 1_000_000), nowMicros % 1_000_000)
    pipeline.set(RUN_ID, runId).eval(source, 0, JSON.stringify(message))
    commands += 4
    at.push(commands - 1)
  }
  const results = (await pipeline.exec()) ?? []
  return at.map((index) => {
    const [error, reply] = results[index]!
    if (error !== null) throw error
    return reply
  })
}

/** Whether the replies to a history are those of the grantor. */
async function isEqual(history: readonly HistoryStep[], source: string): Promise<boolean> {
  const replies = await execute(history, source)
  return history.every(({ message, reply }, index) => isDeepStrictEqual(decodeReply(replies[index], message), reply))
}

/** Faults of the script, each as a text and its replacement. */
const FAULTS = [
  ['math.ceil(level', 'math.floor(level'],
  ['lease.untilMs <= floor_ms', 'lease.untilMs <= 0'],
  ['math.max(0, item.used - own.used)', 'item.used'],
  ['ceil_ms > message.notAfterMs then', 'ceil_ms > message.notAfterMs + 1000 then'],
  ['known.epoch ~= generation.epoch', 'false'],
  ['message.sequence < last.sequence', 'false'],
  ['known.version > budget.version', 'false'],
  ['floor_ms - (known.versionMs or 0) < KEEP_MS', 'true'],
  ['return known, known.versionMs', 'return known, floor_ms'],
  ['generation.isFirst and 0 or budget.capacity', '0'],
  ['silent_ms >= SILENT_MS', 'false'],
  ['ceil_ms - ended_ms', 'ceil_ms'],
  ['ended_ms and not current', 'ended_ms'],
  ['if message.isLast then', 'if false then'],
  ['if floor_ms < unknown_until(generation) + WINDOW_MS_MAX', 'if floor_ms < WINDOW_MS_MAX'],
  ['generation.ended and generation.ended[name] or', ''],
  ['floor_ms < generation.startMs + LEASE_MS', 'false'],
  ['math.min(OBSERVED_MS_MAX, passed_ms)', 'passed_ms'],
  ['math.max(0, math.min(', 'math.abs(math.min('],
  ['before_ms + observed_ms', 'observed_ms'],
  ['pairs(current and current.waiting or {})', 'pairs({})'],
] as const

describe('The lease script in Redis', () => {
  it(
    `replies as the grantor does, in ${HISTORIES} random histories`,
    { timeout: 30_000 + HISTORIES * 1_000 },
    async () => {
      const kinds = new Map<string, number>()
      for (let seed = 1; seed <= HISTORIES; seed++) {
        const history = createLeaseHistory(seed, STEPS, TIMINGS)
        const replies = await execute(history)
        history.forEach(({ message, reply }, index) => {
          expect(decodeReply(replies[index], message), `seed ${seed}, step ${index}`).toEqual(reply)
          kinds.set(reply.type, (kinds.get(reply.type) ?? 0) + 1)
        })
      }
      expect([...kinds.keys()].sort()).toEqual(['clock', 'generation', 'granted', 'stale'])
      expect(kinds.get('granted')).toBeGreaterThan((HISTORIES * STEPS) / 4)
    },
  )

  it.each(FAULTS)('is found to differ with "%s" replaced by "%s"', async (text, replacement) => {
    const faulty = script.replace(text, replacement)
    expect(faulty).not.toBe(script)
    let isFound = false
    for (let seed = 1; seed <= HISTORIES && !isFound; seed++) {
      isFound = !(await isEqual(createLeaseHistory(seed, STEPS, TIMINGS), faulty))
    }
    expect(isFound).toBe(true)
  })

  it('executes everything else in a request with a rate that never leaks', async () => {
    const base = {
      type: 'request',
      node: 'a',
      session: 1,
      epoch: 1,
      notBeforeMs: 0,
      notAfterMs: 2e12,
      isSynced: true,
    } as const
    const window = { startMs: 1_699_999_200_000, endMs: 1_700_002_800_000 }
    const total = { kind: 'total', version: 1, value: 10, ...window } as const
    const never = { kind: 'rate', version: 1, step: 1, leak: 0, capacity: 0 } as const
    const opened = { type: 'open', epoch: 1, runId: 'run', isFirst: true, members: [], notAfterMs: 2e12 } as const
    const items = [
      { key: 'rate', budget: never, held: 0, used: 3, want: 1 },
      { key: 'total', budget: total, held: 0, used: 0, want: 1 },
    ]
    const steps = [opened, { ...base, sequence: 1, items }].map((message) => ({
      nowMicros: 1_700_000_000_000_000,
      runId: 'run',
      isEmptied: false,
      message,
      reply: { type: 'clock', nowMs: 0 } as const,
    }))
    const [, reply] = await execute(steps)
    expect(decodeReply(reply, steps[1]!.message)).toMatchObject({
      type: 'granted',
      grants: [{ granted: 0 }, { granted: 1 }],
    })
  })
})
