import { describe, expect, it } from 'vitest'
import { createKeyRotation } from '../../../../src/control/identity/key-rotation.ts'
import { openKeyRing } from '../../../../src/control/identity/key-ring.ts'
import type { Clock } from '../../../../src/foundation/runtime/clock.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import type { Registry } from '../../../../src/storage/store/registry.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { openSqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'
import { AUTHOR, NOW_MS } from '../../../fixtures/token-endpoints.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

interface Timer {
  readonly atMs: number
  readonly task: () => void
}

/** A clock that the test advances; it runs each timer that falls due, and waits for its work. */
function createTime() {
  let nowMs = NOW_MS
  const timers = new Set<Timer>()
  const clock: Clock = {
    nowMs: () => nowMs,
    after(delayMs, task) {
      const timer = { atMs: nowMs + delayMs, task }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    every: () => () => {},
  }
  return {
    clock,
    pendingTimers: () => timers.size,
    async forward(ms: number, settle: () => Promise<unknown>) {
      const untilMs = nowMs + ms
      for (;;) {
        const next = [...timers].toSorted((a, b) => a.atMs - b.atMs)[0]
        if (next === undefined || next.atMs > untilMs) break
        timers.delete(next)
        nowMs = Math.max(nowMs, next.atMs)
        next.task()
        await settle()
      }
      nowMs = untilMs
    },
  }
}

async function open(registry?: Registry, time = createTime()) {
  const { clock } = time
  const store = registry ?? openSqliteRegistry({ path: ':memory:', clock })
  const keyRing = await openKeyRing({ registry: store, vault: createVault(Buffer.alloc(32, 1)), clock, author: AUTHOR })
  const published: string[][] = []
  const failures: unknown[] = []
  const threads = { failing: 0 }
  const rotation = createKeyRotation({
    keyRing,
    clock,
    async publish({ keys }) {
      if (threads.failing-- > 0) throw new Error('a thread does not respond')
      published.push(keys.map(({ kid }) => String(kid)).sort())
    },
    onFailure: (cause) => failures.push(cause),
  })
  const signing = () =>
    JSON.parse(Buffer.from(keyRing.sign({}, 'ES256', 'x').split('.')[0] ?? '', 'base64url').toString())
  /** Resolves when the rotations that have started are complete: the creation of keys is asynchronous. */
  const settle = () => rotation.settled()
  const forward = (ms: number) => time.forward(ms, settle)
  return { registry: store, rotation, published, failures, threads, forward, time, kid: () => String(signing().kid) }
}

describe('a key rotation on request', () => {
  it('signs with a key that was already published, and publishes the next one', async () => {
    const { rotation, published, kid } = await open()
    await rotation.start()
    const before = kid()
    await rotation.rotateNow()

    expect(kid()).not.toBe(before)
    expect(published[0]).toContain(kid())
    expect(published[1]).toEqual(expect.arrayContaining([before, kid()]))
    expect(published.map((keys) => keys.length)).toEqual([4, 6])
  })

  it('is refused until verifiers have had time to fetch the next key', async () => {
    const { rotation, forward, kid } = await open()
    await rotation.start()
    await rotation.rotateNow()
    const now = kid()
    await forward(5 * MINUTE_MS - 1)
    await expect(rotation.rotateNow()).rejects.toMatchObject({ code: 'state_conflict' })
    expect(kid()).toBe(now)
    await forward(1)
    await rotation.rotateNow()
    expect(kid()).not.toBe(now)
  })

  it('happens once for two concurrent requests', async () => {
    const { rotation, published } = await open()
    await rotation.start()
    const results = await Promise.allSettled([rotation.rotateNow(), rotation.rotateNow()])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(published).toHaveLength(2)
  })

  it('lists the signing, the next and the retired keys', async () => {
    const { rotation } = await open()
    await rotation.start()
    await rotation.rotateNow()
    const roles = rotation.list().map(({ algorithm, role }) => `${algorithm} ${role}`)
    expect(roles.sort()).toEqual(
      ['ES256', 'RS256'].flatMap((of) => ['next', 'retired', 'signing'].map((role) => `${of} ${role}`)),
    )
    const retired = rotation.list().filter(({ publishedUntilMs }) => publishedUntilMs !== null)
    expect(retired.map(({ publishedUntilMs }) => publishedUntilMs)).toEqual([NOW_MS + 4_200_000, NOW_MS + 4_200_000])
  })
})

describe('the key rotation schedule', () => {
  it('rotates after 30 days, and unpublishes a key when its last token has expired', async () => {
    const { rotation, published, forward, kid } = await open()
    await rotation.start()
    const first = kid()
    await forward(30 * DAY_MS - 1)
    expect([kid(), published.length]).toEqual([first, 1])
    await forward(1)
    expect(kid()).not.toBe(first)
    await forward(70 * MINUTE_MS - 1)
    expect(published.at(-1)).toContain(first)
    await forward(1)
    expect(published.at(-1)).not.toContain(first)
    expect(published.at(-1)).toHaveLength(4)
  })

  it('runs once at startup if a rotation fell due while the process was down', async () => {
    const before = await open()
    await before.rotation.start()
    const first = before.kid()
    before.rotation.stop()
    await before.forward(100 * DAY_MS)
    expect(before.kid()).toBe(first)

    const after = await open(before.registry, before.time)
    await after.rotation.start()
    expect(after.kid()).not.toBe(first)
    const now = after.kid()
    await after.forward(MINUTE_MS)
    expect(after.kid()).toBe(now)
  })

  it('publishes the keys at startup if the registry refuses the rotation that is due, and retries in a minute', async () => {
    const { registry, time } = await open()
    await time.forward(31 * DAY_MS, async () => {})
    let isAway = true
    const commit: Registry['commit'] = (...commits) => {
      if (isAway) return Promise.reject(new StoreUnwritable('the registry is away'))
      return registry.commit(...commits)
    }
    const { rotation, published, failures, forward } = await open({ ...registry, commit }, time)
    await rotation.start()
    expect(published.map((keys) => keys.length)).toEqual([4])
    expect(failures).toHaveLength(1)
    isAway = false
    await forward(MINUTE_MS)
    expect(published.map((keys) => keys.length)).toEqual([4, 6])
  })

  it('reports a failure of the threads and retries in a minute', async () => {
    const { rotation, failures, threads, published, forward } = await open()
    await rotation.start()
    threads.failing = 1
    await forward(30 * DAY_MS)
    expect(failures).toMatchObject([{ message: 'a thread does not respond' }])
    await forward(MINUTE_MS)
    expect(published.at(-1)).toHaveLength(6)
  })

  it('arms no timer after it is stopped', async () => {
    const { rotation, time } = await open()
    await rotation.start()
    expect(time.pendingTimers()).toBe(1)
    rotation.stop()
    expect(time.pendingTimers()).toBe(0)
  })
})
