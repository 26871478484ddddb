import { afterAll, describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../src/domain/risk.ts'
import { idAt } from '../../../src/runtime/ids.ts'
import type { SavedEpisode } from '../../../src/store/risk-checkpoint.ts'
import type { ClaimedPartition, PartitionChanges, RiskSignal, SharedRisks } from '../../../src/store/shared-risks.ts'
import { StoreUnwritable } from '../../../src/store/unwritable.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'

const server = await createPostgresServer()
afterAll(() => server.remove())

const NOTHING: PartitionChanges = { episodes: [], events: [], fromMs: 0 }

function signal(fields: Partial<RiskSignal> = {}): RiskSignal {
  const { tenant, type, api, attributedTo, operation, evidence } = riskEvent()
  const times = { firstMs: 1_000, lastMs: 2_000, seconds: [[1, 12, 0]] as const }
  return { tenant, type, api, attributedTo, operation, evidence, ...times, ...fields }
}

function episode(fields: Partial<SavedEpisode> & { readonly event?: RiskEvent } = {}): SavedEpisode {
  const event = fields.event ?? riskEvent()
  return { riskId: event.riskId, tenant: event.tenant, state: 'open', event, resume: { phase: 'opened' }, ...fields }
}

async function open(): Promise<{ url: string; one: SharedRisks; other: SharedRisks }> {
  const url = await server.createDatabase()
  const [{ risks: one }, { risks: other }] = [await openTestPostgres(url), await openTestPostgres(url)]
  return { url, one, other }
}

/** Sends one batch from a new source. */
async function send(risks: SharedRisks, source: string, signals: readonly RiskSignal[]): Promise<boolean> {
  const { sequence } = await risks.openSource(source, {})
  return risks.send({ source, expected: sequence, position: { a: { segment: 1, offset: 5 } }, signals })
}

/** Advances every partition that has work for `holder`; returns the signals. */
async function advanceAll(
  risks: SharedRisks,
  holder: string,
  change: (claimed: ClaimedPartition) => PartitionChanges = () => NOTHING,
): Promise<readonly RiskSignal[]> {
  const taken: RiskSignal[] = []
  const advance = async (claimed: ClaimedPartition): Promise<PartitionChanges> => {
    const changes = change(claimed)
    taken.push(...claimed.signals)
    return changes
  }
  while ((await risks.advance(holder, advance)) !== null);
  return taken
}

describe('signals in PostgreSQL', () => {
  it('are added with the position of their source, and read once', async () => {
    const { one, other } = await open()
    expect(await one.openSource('a', { a: { segment: 1, offset: 0 } })).toEqual({
      sequence: 0,
      position: { a: { segment: 1, offset: 0 } },
    })
    const signals = [signal(), signal({ operation: 'nul \0 and \ud800' })]
    expect(await send(one, 'a', signals)).toBe(true)
    expect(await other.openSource('a', {})).toEqual({ sequence: 1, position: { a: { segment: 1, offset: 5 } } })
    expect(await advanceAll(other, 'n')).toEqual(signals)
    expect(await advanceAll(one, 'm')).toEqual([])
  })

  it('are not added if the source is elsewhere by now', async () => {
    const { one } = await open()
    expect(await send(one, 'a', [signal()])).toBe(true)
    const late = { source: 'a', expected: 0, position: {}, signals: [signal()] }
    expect(await one.send(late)).toBe(false)
    expect((await one.openSource('a', {})).position).toEqual({ a: { segment: 1, offset: 5 } })
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })

  it('of one tenant are in one partition, and those of many tenants in all', async () => {
    const { one, url } = await open()
    const tenants = Array.from({ length: 40 }, (_, index) => `tenant ${index % 20}`)
    await send(
      one,
      'a',
      tenants.map((tenant) => signal({ tenant })),
    )
    const { rows } = await executeSql(url, `SELECT partition, body::json ->> 'tenant' AS tenant FROM risk_signal`)
    expect(new Set(rows.map(({ partition }) => partition)).size).toBe(4)
    expect(new Set(rows.map(({ partition, tenant }) => `${String(partition)} ${String(tenant)}`)).size).toBe(20)
  })

  it('are taken a thousand at a time', async () => {
    const { one } = await open()
    await send(
      one,
      'a',
      Array.from({ length: 2_500 }, () => signal()),
    )
    const sizes: number[] = []
    await advanceAll(one, 'n', ({ signals }) => {
      if (signals.length > 0) sizes.push(signals.length)
      return NOTHING
    })
    expect(sizes).toEqual([1_000, 1_000, 500])
  })

  it('wait if the server stops, and are sent to it afterwards', async () => {
    const { one } = await open()
    await send(one, 'a', [])
    await server.stop()
    await expect(one.openSource('a', {})).rejects.toBeInstanceOf(StoreUnwritable)
    await server.start()
    expect(await send(one, 'a', [signal()])).toBe(true)
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })
})

describe('a partition in PostgreSQL', () => {
  it('is advanced by one node at a time', async () => {
    const { one, other } = await open()
    let isWithin = false
    let most = 0
    const advance = async ({ signals }: ClaimedPartition): Promise<PartitionChanges> => {
      if (signals.length === 0) return NOTHING
      expect(isWithin).toBe(false)
      isWithin = true
      most = Math.max(most, signals.length)
      await new Promise((resolve) => setImmediate(resolve))
      isWithin = false
      return NOTHING
    }
    await send(
      one,
      'a',
      Array.from({ length: 3_000 }, () => signal()),
    )
    const work = Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? one : other).advance('same', advance))
    await Promise.all(work)
    expect(most).toBe(1_000)
    expect(await advanceAll(one, 'same')).toEqual([])
  })

  it('keeps its signals and episodes if the change fails', async () => {
    const { one } = await open()
    await send(one, 'a', [signal()])
    const fails = (): PartitionChanges => {
      throw new Error('a fault')
    }
    await expect(advanceAll(one, 'n', (claimed) => (claimed.signals.length > 0 ? fails() : NOTHING))).rejects.toThrow(
      'a fault',
    )
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })

  it('has another version after each commit', async () => {
    const { one, url } = await open()
    const versions: string[] = []
    for (let round = 0; round < 3; round++) {
      await executeSql(url, `UPDATE risk_partition SET advanced_at = '-infinity' WHERE number = 0`)
      await executeSql(url, `UPDATE risk_partition SET advanced_at = 'infinity' WHERE number <> 0`)
      const committed = await one.advance('n', async ({ version }) => {
        versions.push(version)
        return NOTHING
      })
      versions.push(committed!.version)
    }
    expect(versions[2]).toBe(versions[1])
    expect(versions[4]).toBe(versions[3])
    expect(new Set(versions).size).toBe(4)
  })

  it('stays with the node that has it, until that node leaves or is silent', async () => {
    const { one, other, url } = await open()
    await advanceAll(one, 'n')
    await send(one, 'a', [signal()])
    expect(await advanceAll(other, 'm')).toEqual([])
    await one.leave('n')
    expect(await advanceAll(other, 'm')).toHaveLength(1)
    await send(one, 'a', [signal()])
    expect(await advanceAll(one, 'n')).toEqual([])
    await executeSql(url, `UPDATE risk_partition SET advanced_at = advanced_at - interval '3 seconds'`)
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })

  it('gives its open episodes to the next node', async () => {
    const { one, other } = await open()
    const [opened, cleared] = [episode(), episode({ state: 'cleared' })]
    await send(one, 'a', [signal()])
    await advanceAll(one, 'n', ({ signals }) =>
      signals.length === 0 ? NOTHING : { ...NOTHING, episodes: [opened, cleared] },
    )
    await one.leave('n')
    const found: SavedEpisode[] = []
    while (
      (await other.advance('m', async ({ openEpisodes }) => {
        found.push(...(await openEpisodes()))
        return NOTHING
      })) !== null
    );
    expect(found).toEqual([opened])
  })
})

/** Commits events in one transaction. */
async function addEvents(risks: SharedRisks, events: readonly RiskEvent[], fromMs = 0): Promise<void> {
  await send(risks, `of ${events[0]!.riskId}`, [signal({ tenant: events[0]!.tenant })])
  await advanceAll(risks, 'n', ({ signals }) => (signals.length === 0 ? NOTHING : { episodes: [], events, fromMs }))
}

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

  it('are read by tenant until the history has had them for a minute', async () => {
    const { one, url } = await open()
    await addEvents(one, [riskEvent(), riskEvent({ tenant: 'globex' }), riskEvent()])
    const ids = (await one.feed.read(0, 10)).events.map(({ event }) => event.id)
    const read = async (after: string) => (await one.feed.eventsAfter('acme', after)).map(({ id }) => id)
    expect(await read('')).toEqual([ids[0], ids[2]])
    expect(await read(ids[0]!)).toEqual([ids[2]])
    await one.outbox.stored((await one.outbox.nextBatch())!)
    expect(await read('')).toEqual([ids[0], ids[2]])
    await executeSql(url, `UPDATE risk_event SET made_at = made_at - interval '2 minutes'`)
    expect(await read('')).toEqual([])
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
    await executeSql(url, `UPDATE risk_event SET made_at = made_at - interval '2 hours' WHERE position = 1`)
    await one.outbox.prune(5_000)
    expect((await one.feed.read(0, 10)).events.map(({ position }) => position)).toEqual([2])
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
