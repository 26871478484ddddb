import { describe, expect, it } from 'vitest'
import { createSignalSender } from '../../../../src/pipeline/risk/signal-sender.ts'
import type { SpoolPosition } from '../../../../src/storage/store/checkpoint.ts'
import type { SignalBatch, SignalStore, SourceState } from '../../../../src/storage/store/shared-risks.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'
import { callsOf } from '../../../fixtures/test-risk-detector.ts'

/** A store that works, refuses, or executes and loses its answer. */
function createStore(initial: SourceState | null = null) {
  let state = initial
  const batches: SignalBatch[] = []
  const store: SignalStore & { answers: 'all' | 'none' | 'lost' } = {
    answers: 'all',
    async openSource(_, position) {
      if (store.answers === 'none') throw new Error('the store is away')
      return (state ??= { sequence: 0, position })
    },
    async send(batch) {
      if (store.answers === 'none') throw new Error('the store is away')
      if (state?.sequence !== batch.expected) return false
      state = { sequence: batch.expected + 1, position: batch.position }
      batches.push(batch)
      if (store.answers === 'lost') throw new Error('the answer was lost')
      return true
    },
  }
  return {
    store,
    batches,
    calls: () => batches.flatMap(({ signals }) => signals).reduce((sum, { evidence }) => sum + evidence.total, 0),
  }
}

let spoolKeys = 7_000_000

function open(from: SpoolPosition = {}, initial: SourceState | null = null) {
  const clock = createFakeClock(START_MS)
  const spool = createMemorySpool((spoolKeys += 1_000))
  const counted: string[] = []
  const stored = createStore(initial)
  let isPressed = false
  const sender = createSignalSender({
    reader: spool,
    store: stored.store,
    source: 'here',
    from,
    clock,
    isPressed: () => isPressed,
    count: (reason) => counted.push(reason),
    onFailed: () => counted.push('failed'),
  })
  return {
    ...stored,
    clock,
    spool,
    sender,
    counted,
    press: (value: boolean) => (isPressed = value),
    add(count: number) {
      spool.append('one', callsOf(count, 'operation_forbidden'))
      spool.grow()
    },
  }
}

const END = { one: { segment: 1, offset: 1 } }

describe('A sender of signals', () => {
  it('sends what is written, with the end of its range', async () => {
    const { sender, batches, add, clock } = open()
    add(3)
    sender.start()
    await clock.advance(10)
    expect(batches).toMatchObject([
      { source: 'here', expected: 0, position: END, signals: [{ evidence: { total: 3 } }] },
    ])
    expect(sender.held({})).toEqual(END)
  })

  it('sends at most every 100 ms, and what came meanwhile together', async () => {
    const { sender, batches, add, clock } = open()
    sender.start()
    await clock.advance(50)
    for (let index = 0; index < 10; index++) {
      add(1)
      await clock.advance(10)
    }
    expect(batches.length).toBeLessThanOrEqual(2)
    await clock.advance(150)
    expect(batches.flatMap(({ signals }) => signals).reduce((sum, { evidence }) => sum + evidence.total, 0)).toBe(10)
    expect(batches.length).toBeLessThanOrEqual(3)
  })

  it('sends a thousand signals a second at most, however many parties there are', async () => {
    const { sender, batches, spool, clock, calls } = open()
    sender.start()
    let parties = 0
    for (let step = 0; step < 50; step++) {
      const crowd = Array.from({ length: 400 }, () =>
        call(attribution({ tenant: `t${parties % 4}`, consumer: `con_${parties++}` }), START_MS, 'rate_limited'),
      )
      spool.append('one', crowd)
      spool.grow()
      await clock.advance(100)
    }
    await clock.advance(2_000)
    const named = batches.flatMap(({ signals }) => signals).filter(({ attributedTo }) => attributedTo.kind !== 'others')
    expect(calls()).toBe(20_000)
    expect(named.length).toBeGreaterThan(3_000)
    expect(named.length).toBeLessThanOrEqual(1_000 * 8)
  })

  it('loses and repeats nothing if the store is away, and holds the spool meanwhile', async () => {
    const { sender, store, add, clock, calls } = open()
    store.answers = 'none'
    sender.start()
    add(5)
    await clock.advance(5_000)
    expect(sender.held(END)).toEqual({})
    store.answers = 'all'
    await clock.advance(3_000)
    expect(calls()).toBe(5)
    expect(sender.held(END)).toEqual(END)
  })

  it('repeats nothing if an answer was lost', async () => {
    const { sender, store, add, clock, calls } = open()
    store.answers = 'lost'
    add(5)
    sender.start()
    await clock.advance(500)
    store.answers = 'all'
    add(2)
    await clock.advance(5_000)
    expect(calls()).toBe(7)
  })

  it('continues where the store says, and not before what the spool still has', async () => {
    const ahead = open({}, { sequence: 9, position: END })
    ahead.add(3)
    ahead.add(2)
    ahead.sender.start()
    await ahead.clock.advance(10)
    expect(ahead.batches).toMatchObject([{ expected: 9, signals: [{ evidence: { total: 2 } }] }])
    const behind = open(END, { sequence: 4, position: {} })
    behind.add(3)
    behind.add(2)
    behind.sender.start()
    await behind.clock.advance(10)
    expect(behind.calls()).toBe(2)
  })

  it('gives up what others have read if the spool fills up, and counts it', async () => {
    const { sender, store, add, clock, counted, press, calls } = open()
    store.answers = 'none'
    sender.start()
    add(5)
    await clock.advance(1_000)
    press(true)
    expect(sender.held(END)).toEqual(END)
    expect(counted).toContain('risk_signals_given_up')
    press(false)
    add(2)
    store.answers = 'all'
    await clock.advance(3_000)
    expect(calls()).toBe(2)
  })

  it('holds nothing of calls that raise no risk, and reports its position now and then', async () => {
    const { sender, spool, clock, batches } = open()
    sender.start()
    spool.append('one', [call(attribution(), START_MS)])
    spool.grow()
    await clock.advance(1_000)
    expect(sender.held(END)).toEqual(END)
    expect(batches).toEqual([])
    await clock.advance(60_000)
    expect(batches).toMatchObject([{ position: END, signals: [] }])
  })

  it('sends what is written before it stops, and nothing afterwards', async () => {
    const { sender, add, clock, calls, batches } = open()
    sender.start()
    await clock.advance(10)
    add(1)
    await clock.advance(10)
    add(4)
    await sender.stop()
    expect(calls()).toBe(5)
    const sent = batches.length
    add(3)
    await clock.advance(10_000)
    expect(batches).toHaveLength(sent)
  })
})
