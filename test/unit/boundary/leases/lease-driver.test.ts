import { describe, expect, it } from 'vitest'
import {
  hasLease,
  isClosed,
  isExhausted,
  LEASE_CELL,
  LEASE_CELL_SIZE,
  takeLease,
} from '../../../../src/boundary/leases/lease-cell.ts'
import type { LeaseDeclaration } from '../../../../src/boundary/leases/lease-declaration.ts'
import { settled } from '../../../fixtures/fake-clock.ts'
import {
  createTestGrantor,
  openTestKeeper,
  type LeaseTestKeeper,
  type TestGrantor,
} from '../../../fixtures/lease-keeper.ts'

const NOON_MS = Date.parse('2026-03-04T12:00:00Z')
const HOUR = { startMs: NOON_MS, endMs: NOON_MS + 3_600_000 }
const total = (value: number): LeaseDeclaration => ({ kind: 'total', version: 0, value, windowAt: () => HOUR })

function addCell(keeper: LeaseTestKeeper, key: string, declaration: LeaseDeclaration): Float64Array {
  const cell = new Float64Array(LEASE_CELL_SIZE)
  keeper.add(key, declaration, { cell, at: 0, exclusively: (task) => task() })
  return cell
}

function heldIn(cell: Float64Array, { clock }: TestGrantor): number {
  const now = { monotonicMs: clock.nowMs(), wallMs: clock.nowMs() }
  return hasLease(cell, 0, now) ? cell[LEASE_CELL.allowed]! - cell[LEASE_CELL.used]! : 0
}

describe('Calls that wait for leases', () => {
  it('of 1,000 subscriptions at once have one when their wait ends, each after one wait', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keeper = await openTestKeeper(grantor)
    const cells = Array.from({ length: 1_000 }, (_, index) => addCell(keeper, `counter ${index}`, total(10)))
    const before = grantor.messages.length
    const held = await Promise.all(
      cells.map(async (cell, index) => {
        expect(await keeper.refill(`counter ${index}`, 1)).toBe(true)
        return heldIn(cell, grantor)
      }),
    )
    expect(held.filter((calls) => calls < 1)).toEqual([])
    expect(grantor.messages.length - before).toBeLessThanOrEqual(7)
  })

  it('wait on while the grantor grants a part, although other nodes make its grants small', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keepers = [
      await openTestKeeper(grantor, 'a'),
      await openTestKeeper(grantor, 'b'),
      await openTestKeeper(grantor, 'c'),
    ]
    await grantor.clock.advance(1_000)
    const cells = keepers.map((keeper) => addCell(keeper, 'counter', total(1_000)))
    for (const keeper of keepers) await keeper.refill('counter', 1)
    // All of them have a claim now, so that each grant is a sixth of what is left.
    await keepers[0]!.refill('counter', 500)
    expect(heldIn(cells[0]!, grantor)).toBeGreaterThanOrEqual(500)
  })

  it('use up a total in a few waits, however many calls wait', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keepers = [
      await openTestKeeper(grantor, 'a'),
      await openTestKeeper(grantor, 'b'),
      await openTestKeeper(grantor, 'c'),
    ]
    await grantor.clock.advance(1_000)
    const cells = keepers.map((keeper) => addCell(keeper, 'counter', total(10_000)))
    for (const keeper of keepers) await keeper.refill('counter', 1)
    const [first] = cells as [Float64Array]
    let waits = 0
    while (grantor.clock.nowMs() >= first[LEASE_CELL.exhaustedUntilMs]!) {
      waits++
      await keepers[0]!.refill('counter', 20_000)
      while (heldIn(first, grantor) > 0) takeLease(first, 0)
    }
    expect(waits).toBeLessThan(10)
    expect(first[LEASE_CELL.used]).toBeGreaterThan(9_990)
  })

  it('outlast messages that are lost for a second, but not for longer', async () => {
    let losses = 0
    const grantor = createTestGrantor(NOON_MS, () => {
      if (losses-- > 0) throw new Error('lost')
    })
    const keeper = await openTestKeeper(grantor)
    const cell = addCell(keeper, 'counter', total(10))
    losses = 20
    const served = keeper.refill('counter', 1)
    await grantor.clock.advance(1_100)
    expect(await served).toBe(true)
    expect(heldIn(cell, grantor)).toBe(1)

    losses = 1_000
    const refused = keeper.refill('counter', 2)
    // Calls that arrive meanwhile do not use up the attempts.
    const others = Array.from({ length: 5 }, () => keeper.refill('counter', 2))
    expect(keeper.driver.isUnavailable).toBe(false)
    await grantor.clock.advance(1_100)
    expect(await Promise.all([refused, ...others])).toEqual(Array.from({ length: 6 }, () => false))
    expect(keeper.driver.isUnavailable).toBe(true)
  })

  it('outlast a request that arrives too late to be executed, but not for more than two seconds', async () => {
    const grantor = createTestGrantor(NOON_MS)
    let delayMs = 0
    const keeper = await openTestKeeper({
      ...grantor,
      send(message) {
        grantor.clock.advanceSync(delayMs)
        return grantor.send(message)
      },
    })
    const cell = addCell(keeper, 'counter', total(10))
    delayMs = 300
    const served = keeper.refill('counter', 1)
    delayMs = 0
    await grantor.clock.advance(50)
    expect(await served).toBe(true)
    expect(heldIn(cell, grantor)).toBe(1)

    delayMs = 300
    const refused = keeper.refill('counter', 2)
    await grantor.clock.advance(3_000)
    expect(await refused).toBe(false)
  })

  it('outlast a reply that the node reads late', async () => {
    const grantor = createTestGrantor(NOON_MS)
    let lateMs = 0
    const keeper = await openTestKeeper({
      ...grantor,
      async send(message) {
        const reply = await grantor.send(message)
        grantor.clock.advanceSync(lateMs)
        return reply
      },
    })
    lateMs = 900
    const cell = addCell(keeper, 'counter', total(10))
    expect(await keeper.refill('counter', 1)).toBe(true)
    expect(heldIn(cell, grantor)).toBe(1)
  })

  it('wait for the grantor to learn what all nodes hold, for at most two seconds', async () => {
    const grantor = createTestGrantor(NOON_MS, () => {}, ['a', 'b'])
    const keeper = await openTestKeeper(grantor, 'a')
    const cell = addCell(keeper, 'counter', total(10))
    let ended = 0
    const wait = () => keeper.refill('counter', 1).then((isReached) => (ended++, isReached))
    const messages = grantor.messages.length
    const first = wait()
    await grantor.clock.advance(1_900)
    expect(ended).toBe(0)
    expect(grantor.messages.length - messages).toBeLessThan(50)
    await grantor.clock.advance(200)
    expect(await first).toBe(true)
    expect([heldIn(cell, grantor), isClosed(cell, 0)]).toEqual([0, true])

    const later = wait()
    await grantor.clock.advance(50)
    expect(ended).toBe(2)
    expect(await later).toBe(true)
    // Nothing is left for it to say.
    expect(isExhausted(cell, 0, { monotonicMs: grantor.clock.nowMs(), wallMs: 0 })).toBe(false)

    await openTestKeeper(grantor, 'b')
    expect(await wait()).toBe(true)
    expect([heldIn(cell, grantor) > 0, isClosed(cell, 0)]).toEqual([true, false])
  })

  it('are served when the last node has reported what it holds', async () => {
    const grantor = createTestGrantor(NOON_MS, () => {}, ['a', 'b'])
    const keeper = await openTestKeeper(grantor, 'a')
    const cell = addCell(keeper, 'counter', total(10))
    const served = keeper.refill('counter', 1)
    await grantor.clock.advance(100)
    await openTestKeeper(grantor, 'b')
    expect(await served).toBe(true)
    expect(heldIn(cell, grantor)).toBeGreaterThan(0)
  })

  it('do not wait while the grantor is unavailable, and are served when it is back', async () => {
    let isDown = false
    const grantor = createTestGrantor(NOON_MS, () => {
      if (isDown) throw new Error('lost')
    })
    const keeper = await openTestKeeper(grantor)
    addCell(keeper, 'counter', total(10))
    isDown = true
    await grantor.clock.advance(2_000)
    expect(keeper.driver.isUnavailable).toBe(true)
    expect(await keeper.refill('counter', 1)).toBe(false)
    isDown = false
    await grantor.clock.advance(50)
    expect(await keeper.refill('counter', 1)).toBe(true)
  })

  it('do not wait for PostgreSQL while a generation must be numbered', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const { promise: stuck, resolve } = Promise.withResolvers<{ epoch: number; isFirst: boolean; members: string[] }>()
    const keeper = await openTestKeeper({ ...grantor, openEpoch: () => stuck })
    addCell(keeper, 'counter', total(10))
    let result: boolean | null = null
    void keeper.refill('counter', 1).then((isReached) => (result = isReached))
    await grantor.clock.advance(500)
    expect(result).toBe(false)
    resolve({ epoch: 1, isFirst: true, members: [] })
    await grantor.clock.advance(500)
    expect(await keeper.refill('counter', 1)).toBe(true)
  })

  it('end when the leases are returned at a stop', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keeper = await openTestKeeper(grantor)
    const cell = addCell(keeper, 'counter', total(10))
    await keeper.refill('counter', 2)
    await keeper.driver.stop()
    expect(heldIn(cell, grantor)).toBe(0)
    let hasEnded = false
    void keeper.refill('counter', 1).then(() => (hasEnded = true))
    await settled()
    expect(hasEnded).toBe(true)
  })
})

describe('A stop', () => {
  it('returns the leases of 1,000 counters at once', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keeper = await openTestKeeper(grantor)
    const keys = Array.from({ length: 1_000 }, (_, index) => `counter ${index}`)
    for (const key of keys) addCell(keeper, key, total(10))
    await Promise.all(keys.map((key) => keeper.refill(key, 2)))
    grantor.messages.length = 0
    await keeper.driver.stop()
    const returned = grantor.messages.flatMap((message) => (message.type === 'request' ? message.items : []))
    expect(new Set(returned.filter(({ held }) => held === 0).map(({ key }) => key)).size).toBe(1_000)
  })
})

describe('An exchange', () => {
  it('examines one counter if one is needed, however many are active, and all of them in time', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keeper = await openTestKeeper(grantor)
    let reads = 0
    const keys = Array.from({ length: 1_000 }, (_, index) => `counter ${index}`)
    for (const key of keys) {
      const exclusively = (task: () => void): void => {
        reads++
        task()
      }
      keeper.add(key, total(1_000), { cell: new Float64Array(LEASE_CELL_SIZE), at: 0, exclusively })
    }
    await Promise.all(keys.map((key) => keeper.refill(key, 1)))
    await grantor.clock.advance(200)
    reads = 0
    for (let attack = 0; attack < 50; attack++) await keeper.refill('counter 7', 2)
    expect(reads).toBeLessThan(1_000)
    await grantor.clock.advance(50)
    expect(reads).toBeGreaterThan(1_000)
  })
})
