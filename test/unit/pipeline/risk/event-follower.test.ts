import { describe, expect, it } from 'vitest'
import {
  openEventFollower,
  openLateEventFollower,
  type EventFollowerOptions,
} from '../../../../src/pipeline/risk/event-follower.ts'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'

const idOf = (position: number): string => `evt_${String(position).padStart(6, '0')}`

async function open(first = 0, isLate = false) {
  const clock = createFakeClock(START_MS)
  let events: { position: number; event: RiskEvent }[] = []
  let end = 0
  let fails = isLate
  const published: string[] = []
  const gaps: string[] = []
  const add = (count = 1): void => {
    for (let index = 0; index < count; index++) {
      end++
      events.push({ position: end, event: riskEvent({ id: idOf(end) }) })
    }
  }
  add(first)
  const options: EventFollowerOptions = {
    feed: {
      async read(after, limit) {
        if (fails) throw new Error('the store is away')
        const page = events.filter(({ position }) => position > after).slice(0, limit)
        return { events: page, end, lastId: end === 0 ? '' : idOf(end) }
      },
    },
    clock,
    publish: (page) => published.push(...page.map(({ id }) => id)),
    onGap: async (afterId, fromId) => void gaps.push(`${afterId} ${fromId}`),
    onFailed: () => {},
  }
  const follower = isLate ? openLateEventFollower(options) : await openEventFollower(options)
  follower.start()
  await clock.advance(0)
  return {
    follower,
    clock,
    published,
    gaps,
    add,
    setFails: (value: boolean) => (fails = value),
    remove: (before: number) => (events = events.filter(({ position }) => position >= before)),
    restore(position: number) {
      events = events.filter((event) => event.position <= position)
      end = position
    },
  }
}

describe('A follower of risk events', () => {
  it('publishes each event after its start once, in order, on a hint or with the next poll', async () => {
    const { follower, clock, published, add } = await open(3)
    expect(follower.fromId).toBe(idOf(3))
    add(2)
    expect(await follower.poll()).toBe(true)
    expect(published).toEqual([idOf(4), idOf(5)])
    add(2_500)
    await clock.advance(1_000)
    expect(published).toEqual(Array.from({ length: 2_502 }, (_, index) => idOf(index + 4)))
  })

  it('follows from the end that the feed has when it can be read, if the store was away at its start', async () => {
    const { follower, clock, published, gaps, add, setFails } = await open(3, true)
    await clock.advance(3_000)
    expect([published, gaps]).toEqual([[], []])
    setFails(false)
    expect(await follower.poll()).toBe(true)
    expect([published, gaps]).toEqual([[], [`${idOf(3)} ${idOf(3)}`]])
    add(2)
    await clock.advance(1_000)
    expect(published).toEqual([idOf(4), idOf(5)])
  })

  it('continues where it was after the store was away', async () => {
    const { follower, clock, published, add, setFails } = await open()
    setFails(true)
    add(2)
    expect(await follower.poll()).toBe(false)
    setFails(false)
    await clock.advance(1_000)
    expect(published).toEqual([idOf(1), idOf(2)])
  })

  it('reports events that were removed before it could read them', async () => {
    const { follower, published, gaps, add, remove } = await open(2)
    add(5)
    remove(6)
    await follower.poll()
    expect(gaps).toEqual([`${idOf(2)} ${idOf(6)}`])
    expect(published).toEqual([idOf(6), idOf(7)])
    add(1)
    remove(9)
    await follower.poll()
    add(1)
    await follower.poll()
    expect(gaps.slice(1)).toEqual([`${idOf(7)} ${idOf(8)}`])
    expect(published.slice(2)).toEqual([idOf(9)])
  })

  it('follows a store that was restored without the last events', async () => {
    const { follower, published, gaps, add, restore } = await open(5)
    add(1)
    await follower.poll()
    restore(3)
    await follower.poll()
    expect(gaps).toHaveLength(1)
    add(1)
    await follower.poll()
    expect(published).toEqual([idOf(6), idOf(4)])
  })

  it('publishes nothing after it was stopped', async () => {
    const { follower, clock, published, add } = await open()
    await follower.stop()
    add(1)
    await clock.advance(5_000)
    expect(await follower.poll()).toBe(false)
    expect(published).toEqual([])
  })
})
