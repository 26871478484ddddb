/** Limits of several nodes while Redis is away, after it lost data, and when nodes are killed: never one call more than declared. */

// @module-tag postgres
// @module-tag redis-server

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { declareLimit, HOUR, LimitedCaller, nodeOf, publishAs, windowsSince } from './limited-calls.ts'
import { type Service, TWO_THREADS } from './service.ts'
import { callOne, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const MINUTE = 60_000
const LIMIT = 200
const WAIT = { timeout: 40_000, interval: 200 }
let several: SeveralNodes
let backend: LedgerBackend
let fromMs = 0

beforeAll(async () => {
  backend = await startLedgerBackend('first')
  several = await startSeveralNodes(['a', 'b', 'c'], TWO_THREADS)
  await publishAs(nodeOf(several, 0), 'Ledger', backend.url)
  for (const title of ['Free', 'Slots']) await publishAs(nodeOf(several, 0), title, backend.url)
  await declareLimit(nodeOf(several, 0), { totals: { hour: LIMIT } })
  await declareLimit(nodeOf(several, 0), { concurrent: 4 }, 'slots-v1')
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
})

beforeEach(() => void (fromMs = Date.now()))

/** Calls until at least `least` calls were admitted and every node refuses by the limit; then the sum of the hour must be within it. */
async function callUpToLimit(caller: LimitedCaller, least = 0): Promise<void> {
  // While nodes report to a new generation, they refuse calls that they admit afterwards.
  const admitted = async () => (await caller.burst(several.nodes, 20), caller.admitted)
  if (least > 0) await expect.poll(admitted, WAIT).toBeGreaterThanOrEqual(least)
  const isUsedUp = async () => (await caller.burst(several.nodes, 20)).join()
  await expect.poll(isUsedUp, WAIT).toBe('429')
  expect(caller.admitted).toBeLessThanOrEqual(LIMIT * windowsSince(fromMs, HOUR))
}

/** Copies the folder of a node while its process writes nothing, as a snapshot does. Returns the copy. */
function copyPaused(node: Service): string {
  const copy = mkdtempSync(join(tmpdir(), 'tollgate-older-'))
  onTestFinished(() => rmSync(copy, { recursive: true }))
  process.kill(node.pid(), 'SIGSTOP')
  cpSync(node.dataDir, copy, { recursive: true, verbatimSymlinks: true })
  process.kill(node.pid(), 'SIGCONT')
  return copy
}

describe('nodes whose Redis is stopped', () => {
  it(
    'refuse calls with limits by 503, serve those without, and lose nothing when it is back, empty',
    async () => {
      const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Outage')
      const free = await LimitedCaller.enrol(nodeOf(several, 0), 'Free', 'free-v1', '/free-v1/entries?n=1')
      expect(await caller.burst(several.nodes, 15)).toEqual([200])
      await several.redis.stop()
      await expect.poll(async () => (await caller.burst(several.nodes, 5)).join(), WAIT).toBe('503')
      expect(await free.burst(several.nodes, 20)).toEqual([200])
      await several.redis.start('empty')
      await expect.poll(() => caller.call(nodeOf(several, 1)), WAIT).toBe(200)
      await callUpToLimit(caller, LIMIT * 0.95)
      expect(caller.unclear).toEqual([])
    },
    2 * MINUTE,
  )
})

describe('a node that left', () => {
  it('closes no limit after Redis has lost its data, and its calls count', async () => {
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Left')
    const slots = await LimitedCaller.enrol(nodeOf(several, 0), 'Slots', 'slots-v1', '/slots-v1/entries?n=1')
    const [left, others] = [nodeOf(several, 2), several.nodes.slice(0, 2)]
    expect(await caller.burst([left], 40)).toEqual([200])
    expect(await slots.burst([left], 2)).toEqual([200])
    expect(await left.stop()).toBe(0)
    await several.redis.stop()
    await several.redis.start('empty')
    const later = await LimitedCaller.enrol(nodeOf(several, 0), 'Later')
    for (const each of [caller, later, slots]) await expect.poll(() => each.call(nodeOf(several, 0)), WAIT).toBe(200)
    await left.start()
    await callUpToLimit(caller, LIMIT * 0.7)
    expect(others.map((node) => node.errors()).join('')).not.toContain('limits of open windows wait')
  })
})

describe('a total of an hour', () => {
  it('is never exceeded after Redis has restarted from a snapshot', async () => {
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Snapshot')
    expect(await caller.burst(several.nodes, 5)).toEqual([200])
    await several.redis.command('SAVE')
    expect(await caller.burst(several.nodes, 30)).toEqual([200])
    await several.redis.stop()
    await several.redis.start('snapshot')
    await callUpToLimit(caller, LIMIT * 0.95)
  })

  it('is never exceeded if a node is killed and started again', async () => {
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Killed')
    expect(await caller.burst(several.nodes, 20)).toEqual([200])
    const killed = nodeOf(several, 1)
    await killed.kill()
    await killed.start()
    await callUpToLimit(caller, LIMIT * 0.7)
  })

  it('is never exceeded if a node is killed and Redis loses its data meanwhile', async () => {
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Both')
    expect(await caller.burst(several.nodes, 20)).toEqual([200])
    const killed = nodeOf(several, 2)
    await killed.kill()
    await several.redis.stop()
    await several.redis.start('empty')
    // What the dead node has admitted is unknown, so that the hour grants nothing, and nobody knows whether it is used up.
    const others = several.nodes.slice(0, 2)
    await expect.poll(async () => (await caller.burst(others, 5)).join(), WAIT).toBe('503')
    expect(caller.admitted).toBeLessThanOrEqual(LIMIT)
    await killed.start()
    await expect.poll(() => caller.call(killed), WAIT).toBe(200)
    await callUpToLimit(caller)
  })

  // From here on, identities are left that nobody reports, for which the hour waits if Redis loses its data.
  it('is never exceeded if the folder of a node is put back from an older copy', async () => {
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Older')
    const node = nodeOf(several, 1)
    expect(await caller.burst([node], 20)).toEqual([200])
    const copy = copyPaused(node)
    expect(await caller.burst([node], 60)).toEqual([200])
    await node.stop()
    rmSync(node.dataDir, { recursive: true })
    cpSync(copy, node.dataDir, { recursive: true, verbatimSymlinks: true })
    await node.start()
    expect(node.errors()).toContain('this node takes new leases')
    await callUpToLimit(caller, LIMIT * 0.7)
  })
})

describe('a node that was killed and removed', () => {
  it('is named while an hour waits for it after Redis has lost its data', async () => {
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Removed')
    const killed = nodeOf(several, 2)
    expect(await caller.burst([killed], 20)).toEqual([200])
    await killed.kill()
    await several.redis.stop()
    await several.redis.start('empty')
    const first = nodeOf(several, 0)
    const readiness = async () => (await (await fetch(`${first.baseUrl}/readyz`)).json()) as { reason?: string }
    await expect
      .poll(readiness, WAIT)
      .toMatchObject({ status: 'ready', reason: expect.stringMatching(/Redis .*\bc\b/) })
    expect(first.errors()).toContain('limits of open windows wait for what')
    const untilHour = async () => {
      const retryAfterS = await caller.retryAfter(first)
      return Math.abs(retryAfterS * 1_000 - (HOUR - (Date.now() % HOUR))) < 15_000
    }
    await expect.poll(untilHour, WAIT).toBe(true)
    await killed.start()
    expect(caller.admitted).toBeLessThanOrEqual(LIMIT * windowsSince(fromMs, HOUR))
  })
})

describe('a node that shall serve without Redis', () => {
  it('serves, counts alone, and raises a Critical risk for the operator', async () => {
    const serving = await startSeveralNodes(['s'], { LIMITS_WITHOUT_REDIS: 'serve' })
    try {
      const [node] = serving.nodes as [(typeof serving.nodes)[0]]
      await publishAs(node, 'Ledger', backend.url)
      await declareLimit(node, { totals: { hour: 50 } })
      const caller = await LimitedCaller.enrol(node, 'Served')
      await serving.redis.stop()
      expect(await caller.burst([node], 60)).toEqual([200, 429])
      expect(caller.admitted).toBe(50 * windowsSince(fromMs, HOUR))
      const risks = () => node.platform.get<{ items: { type: string }[] }>('/v1/risks')
      const raised = async () => (await risks()).items.filter(({ type }) => type === 'LimitsUnavailable')
      await expect.poll(raised, WAIT).toMatchObject([{ severity: 'Critical', category: 'Governance' }])
      await serving.redis.start('empty')
      expect(await callOne(node, '/ledger-v1/entries?n=1', 'none')).toBe(401)
    } finally {
      await serving.remove()
    }
  })
})
