// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { idAt } from '../../../src/foundation/runtime/ids.ts'
import type { SavedEpisode } from '../../../src/storage/store/risk-checkpoint.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { addEvents, advanceAll, episode, NOTHING, openTwo, send, signal } from './shared-risks-helpers.ts'

const server = usePostgres()

const open = async () => openTwo(await server.createDatabase())

describe('risk events in PostgreSQL', () => {
  it('have positions without gaps, and ids in the same order', async () => {
    const { one, other } = await open()
    for (let round = 0; round < 5; round++) await addEvents(one, [riskEvent(), riskEvent()])
    const { events, end, lastId } = await other.feed.read(0, 100)
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1))
    const ids = events.map(({ event }) => event.id)
    expect(ids).toEqual(ids.toSorted())
    expect(ids.every((id) => /^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(id))).toBe(true)
    expect({ end, lastId }).toEqual({ end: 10, lastId: ids.at(-1) })
    expect((await one.feed.read(8, 1)).events.map(({ position }) => position)).toEqual([9])
  })

  it('are not older than their risks, also if the clock of a node is ahead', async () => {
    const { one } = await open()
    const aheadMs = Date.now() + 3_600_000
    await addEvents(one, [riskEvent()], aheadMs)
    await addEvents(one, [riskEvent()])
    const { events } = await one.feed.read(0, 10)
    expect(events.map(({ event }) => event.id)).toEqual([idAt('evt', aheadMs, 1), idAt('evt', aheadMs, 2)])
  })

  it('leave no position unused if their transaction fails', async () => {
    const { one, url } = await open()
    await addEvents(one, [riskEvent()])
    await executeSql(url, 'INSERT INTO risk_event VALUES (2, $$evt$$, $$acme$$, $$rsk$$, now(), $${}$$)')
    await expect(addEvents(one, [riskEvent()])).rejects.toThrow(/duplicate key/)
    await executeSql(url, 'DELETE FROM risk_event WHERE position = 2')
    await advanceAll(one, 'n', () => ({ episodes: [], events: [riskEvent()], fromMs: 0 }))
    const { events } = await one.feed.read(0, 10)
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1))
  })

  it('are read by tenant, after a position and an id, in pages', async () => {
    const { one } = await open()
    await addEvents(one, [riskEvent(), riskEvent({ tenant: 'globex' }), riskEvent(), riskEvent()])
    const ids = (await one.feed.read(0, 10)).events.map(({ event }) => event.id)
    const read = async (position: number, id: string, limit = 10) =>
      (await one.feed.eventsAfter({ tenant: 'acme', position, id, limit })).map((event) => event.id)
    expect(await read(0, '')).toEqual([ids[0], ids[2], ids[3]])
    expect(await read(0, ids[0]!, 1)).toEqual([ids[2]])
    expect(await read(3, '')).toEqual([ids[3]])
  })

  it('are in the history for all readers a minute after they were stored', async () => {
    const { one, url } = await open()
    await addEvents(one, [riskEvent(), riskEvent()])
    expect(await one.feed.inHistory()).toBe(0)
    await one.outbox.stored((await one.outbox.nextBatch())!)
    expect(await one.feed.inHistory()).toBe(0)
    await executeSql(url, `UPDATE risk_history_mark SET stored_at = stored_at - interval '2 minutes'`)
    expect(await one.feed.inHistory()).toBe(2)
    await one.outbox.prune(0)
    expect(await one.feed.inHistory()).toBe(2)
  })

  it('of an episode are read by tenant, the latest ones', async () => {
    const { one } = await open()
    const [mine, other] = [riskEvent(), riskEvent()]
    await addEvents(one, [mine, other, mine, mine])
    const of = async (tenant: string, limit = 10) => await one.feed.eventsOf(tenant, mine.riskId, limit)
    const all = await of('acme')
    expect(all.map(({ riskId }) => riskId)).toEqual(Array(3).fill(mine.riskId))
    expect(await of('acme', 2)).toEqual(all.slice(1))
    expect(await of('globex')).toEqual([])
  })
})

describe('the outbox of risk events in PostgreSQL', () => {
  it('gives the same batch to every node until it is stored, also after more events', async () => {
    const { one, other } = await open()
    expect(await one.outbox.nextBatch()).toBeNull()
    await addEvents(one, [riskEvent(), riskEvent()])
    const batch = await one.outbox.nextBatch()
    await addEvents(one, [riskEvent()])
    expect(await other.outbox.nextBatch()).toEqual(batch)
    expect(batch).toMatchObject({ from: 0, to: 2 })
    await other.outbox.stored(batch!)
    await one.outbox.stored(batch!)
    expect(await one.outbox.nextBatch()).toMatchObject({ from: 2, to: 3 })
  })

  it('removes stored events after an hour, and episodes that cleared long ago', async () => {
    const { one, url } = await open()
    const [old, recent] = [riskEvent({ lastSeenMs: 1_000 }), riskEvent({ lastSeenMs: 9_000 })]
    await send(one, 'a', [signal()])
    await advanceAll(one, 'n', ({ signals }) => {
      if (signals.length === 0) return NOTHING
      const episodes = [old, recent].map((event) => episode({ state: 'cleared', event }))
      return {
        episodes: [...episodes, episode({ event: riskEvent({ lastSeenMs: 1_000 }) })],
        events: [old, recent],
        fromMs: 0,
      }
    })
    await one.outbox.stored((await one.outbox.nextBatch())!)
    expect(await one.outbox.prune(5_000)).toBe(0)
    expect((await one.feed.read(0, 10)).events).toHaveLength(2)
    await executeSql(url, `UPDATE risk_history_mark SET stored_at = stored_at - interval '2 hours'`)
    await addEvents(one, [riskEvent()])
    await one.outbox.stored((await one.outbox.nextBatch())!)
    await one.outbox.prune(5_000)
    expect((await one.feed.read(0, 10)).events.map(({ position }) => position)).toEqual([3])
    const query = { tenant: 'acme', after: '', limit: 10 }
    expect(await one.episodes.list({ ...query, state: 'cleared' })).toMatchObject([{ riskId: recent.riskId }])
    expect(await one.episodes.list({ ...query, state: 'open' })).toHaveLength(1)
  })
})

describe('risk episodes in PostgreSQL', () => {
  it('are listed by tenant and state in the order of their ids, and read by tenant only', async () => {
    const { one } = await open()
    const mine = [episode(), episode(), episode({ state: 'cleared' })]
    const theirs = episode({ event: riskEvent({ tenant: 'globex' }) })
    await send(one, 'a', [signal()])
    await advanceAll(one, 'n', ({ signals }) =>
      signals.length === 0 ? NOTHING : { ...NOTHING, episodes: [...mine, theirs] },
    )
    const list = async (state: 'open' | 'cleared', after = '', limit = 10) =>
      (await one.episodes.list({ tenant: 'acme', state, after, limit })).map(({ riskId }) => riskId)
    expect(await list('open')).toEqual([mine[0]!.riskId, mine[1]!.riskId])
    expect(await list('open', mine[0]!.riskId)).toEqual([mine[1]!.riskId])
    expect(await list('open', '', 1)).toEqual([mine[0]!.riskId])
    expect(await list('cleared')).toEqual([mine[2]!.riskId])
    expect(await one.episodes.get('acme', mine[2]!.riskId)).toEqual(mine[2])
    expect(await one.episodes.get('acme', theirs.riskId)).toBeNull()
  })

  it('lose the name of an erased consumer once they have cleared', async () => {
    const url = await server.createDatabase()
    const { risks } = await openTestPostgres(url)
    const attributedTo = { kind: 'consumer', id: 'con_1', name: 'Ada' } as const
    const named = (state: SavedEpisode['state']) =>
      episode({ state, event: riskEvent({ attributedTo, message: 'Ada failed.' }) })
    const [cleared, opened] = [named('cleared'), named('open')]
    await send(risks, 'a', [signal()])
    await advanceAll(risks, 'n', ({ signals }) =>
      signals.length === 0 ? NOTHING : { ...NOTHING, episodes: [cleared, opened] },
    )
    expect(await risks.replaceConsumerName('globex', 'con_1', 'con_1')).toBe(0)
    expect(await risks.replaceConsumerName('acme', 'con_1', 'con_1')).toBe(1)
    const stored = await risks.episodes.get('acme', cleared.riskId)
    expect(stored!.event).toMatchObject({ attributedTo: { name: 'con_1' }, message: 'con_1 failed.' })
    expect((await risks.episodes.get('acme', opened.riskId))!.event.attributedTo.name).toBe('Ada')
    expect(await risks.replaceConsumerName('acme', 'con_1', 'con_1')).toBe(0)
  })
})

describe('hints of risks', () => {
  it('reach other nodes after signals and after events', async () => {
    const { one, other } = await open()
    const [signals, events] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    other.onHint({ onSignals: signals.resolve, onEvents: events.resolve })
    await send(one, 'a', [signal()])
    await signals.promise
    await addEvents(one, [riskEvent()])
    await events.promise
    expect((await other.feed.read(0, 1)).end).toBe(1)
  })
})
