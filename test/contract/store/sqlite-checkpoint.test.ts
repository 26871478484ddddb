import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RiskEvent, Severity } from '../../../src/foundation/domain/risk.ts'
import type { SavedEpisode } from '../../../src/storage/store/risk-checkpoint.ts'
import { openSqliteCheckpoint, type SqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'

let folder: string
let checkpoint: SqliteCheckpoint
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoint-'))
  checkpoint = open()
})
afterEach(() => {
  checkpoint.close()
  rmSync(folder, { recursive: true, force: true })
})

const open = (outboxMax?: number) =>
  openSqliteCheckpoint({
    path: join(folder, 'checkpoint.db'),
    newInstance: () => `instance-${Math.random()}`,
    ...(outboxMax !== undefined && { outboxMax }),
  })

function reopen(outboxMax?: number): void {
  checkpoint.close()
  checkpoint = open(outboxMax)
}

const at = (offset: number) => ({ 'gateway-0': { segment: 1, offset } })

const event = (id: string, changes: Partial<RiskEvent> = {}): RiskEvent => ({
  id,
  riskId: 'rsk_1',
  tenant: 'acme',
  phase: 'opened',
  type: 'AuthFailure401',
  category: 'Security',
  severity: 'Info',
  attributedTo: { kind: 'consumer', id: 'con_1', name: 'Shop' },
  api: 'payments-v1',
  operation: '',
  count: 1,
  windowSeconds: 60,
  firstSeenMs: 1_000,
  lastSeenMs: 1_000,
  message: '',
  evidence: { total: 1, statuses: {}, reasons: {}, operations: {}, requestIds: [] },
  ...changes,
})

const episode = (riskId: string, state: 'open' | 'cleared', changes: Partial<RiskEvent> = {}): SavedEpisode => ({
  riskId,
  tenant: changes.tenant ?? 'acme',
  state,
  event: event('', { riskId, ...changes }),
  resume: { any: 'thing' },
})

describe('the checkpoint in SQLite', () => {
  it('returns a flush that was begun and not committed, with its range and number', () => {
    expect(checkpoint.pending()).toBeNull()
    const first = checkpoint.begin(at(10))
    checkpoint.commit(first)
    checkpoint.begin(at(20))
    reopen()

    expect(checkpoint.position()).toEqual(at(10))
    expect(checkpoint.pending()).toEqual({ number: first.number + 1, from: at(10), to: at(20), tokens: 'range' })
    checkpoint.commit(checkpoint.pending()!)
    expect(checkpoint.pending()).toBeNull()
    expect(checkpoint.position()).toEqual(at(20))
    expect(checkpoint.begin(at(30)).number).toBe(first.number + 2)
  })

  it('has the same instance for the lifetime of the file', () => {
    const { instance } = checkpoint
    reopen()

    expect(checkpoint.instance).toBe(instance)
  })

  it('commits position, episodes and events of risk together, or none of them', () => {
    checkpoint.commitRisk(at(10), [episode('rsk_1', 'open')], [event('evt_1')], 0)
    const again = [event('evt_2'), event('evt_1')]
    expect(() => checkpoint.commitRisk(at(20), [episode('rsk_2', 'open')], again, 0)).toThrow()
    reopen()

    expect(checkpoint.riskPosition()).toEqual(at(10))
    expect(checkpoint.openEpisodes().map(({ riskId }) => riskId)).toEqual(['rsk_1'])
    expect(checkpoint.waiting('acme', '').map(({ id }) => id)).toEqual(['evt_1'])
    expect(checkpoint.lastEventId()).toBe('evt_1')
  })

  it('returns open episodes as they were saved, and cleared ones during their retention', () => {
    checkpoint.commitRisk(at(1), [episode('rsk_1', 'open'), episode('rsk_2', 'open')], [], 0)
    checkpoint.commitRisk(
      at(2),
      [episode('rsk_1', 'cleared'), episode('rsk_3', 'cleared', { lastSeenMs: 5_000 })],
      [],
      0,
    )
    const cleared = () =>
      checkpoint.clearedEpisodes({ tenant: 'acme', state: 'cleared', limit: 10 }).map(({ event: { riskId } }) => riskId)

    expect(checkpoint.openEpisodes()).toEqual([episode('rsk_2', 'open')])
    expect(cleared()).toEqual(['rsk_1', 'rsk_3'])
    checkpoint.commitRisk(at(3), [], [], 2_000)
    expect(cleared()).toEqual(['rsk_3'])
  })

  it('filters and pages cleared episodes of one tenant', () => {
    const severities: Severity[] = ['Info', 'Warning', 'Critical']
    const episodes = severities.map((severity, index) => episode(`rsk_${index}`, 'cleared', { severity }))
    checkpoint.commitRisk(at(1), [...episodes, episode('rsk_9', 'cleared', { tenant: 'other' })], [], 0)
    const ask = (query: object) =>
      checkpoint
        .clearedEpisodes({ tenant: 'acme', state: 'cleared', limit: 10, ...query })
        .map(({ event: { riskId } }) => riskId)

    expect(ask({})).toEqual(['rsk_0', 'rsk_1', 'rsk_2'])
    expect(ask({ severity: 'Warning' })).toEqual(['rsk_1', 'rsk_2'])
    expect(ask({ after: 'rsk_0', limit: 1 })).toEqual(['rsk_1'])
    expect(ask({ api: 'other-v1' })).toEqual([])
    expect(ask({ tenant: 'other' })).toEqual(['rsk_9'])
  })

  it('returns the same batch of outbox events until it was sent', () => {
    checkpoint.commitRisk(at(1), [], [event('evt_1'), event('evt_2')], 0)
    const batch = checkpoint.nextBatch()!
    checkpoint.commitRisk(at(2), [], [event('evt_3')], 0)
    reopen()

    expect(checkpoint.nextBatch()).toEqual(batch)
    checkpoint.sent(batch)
    const next = checkpoint.nextBatch()!
    expect(next.events.map(({ id }) => id)).toEqual(['evt_3'])
    expect(next.number).toBe(batch.number + 1)
    checkpoint.sent(next)
    expect(checkpoint.nextBatch()).toBeNull()
  })

  it('bounds the outbox: deletes the oldest events, keeps a batch in flight, and returns the number', () => {
    reopen(3)
    checkpoint.commitRisk(at(1), [], [event('evt_1')], 0)
    const batch = checkpoint.nextBatch()
    expect(
      checkpoint.commitRisk(
        at(2),
        [],
        ['evt_2', 'evt_3', 'evt_4', 'evt_5'].map((id) => event(id)),
        0,
      ),
    ).toBe(2)

    expect(checkpoint.waiting('acme', '').map(({ id }) => id)).toEqual(['evt_1', 'evt_4', 'evt_5'])
    expect(checkpoint.nextBatch()).toEqual(batch)
    reopen(3)
    expect(checkpoint.commitRisk(at(3), [], [event('evt_6')], 0)).toBe(1)
  })

  it('returns the outbox events of one tenant after an event, and none of another tenant', () => {
    checkpoint.commitRisk(at(1), [], [event('evt_1'), event('evt_2', { tenant: "acme' OR 1" }), event('evt_3')], 0)

    expect(checkpoint.waiting('acme', 'evt_1').map(({ id }) => id)).toEqual(['evt_3'])
  })
})

describe('counters of limits', () => {
  const counters = (subscription: string, used: number) => ({
    subscription,
    api: 'payments-v1',
    counters: [{ key: 'a/totals.day', meaning: 'm', kind: 'total' as const, slots: [1_000, used, 0] }],
    breachesMs: [5],
    refusedMs: 7,
  })

  it('are saved with their position of the spool, over a restart', () => {
    expect(checkpoint.limitPosition()).toEqual({})
    checkpoint.saveCounters(at(10), [counters('sub_1', 3), counters('sub_2', 4)], 0)
    checkpoint.saveCounters(at(20), [counters('sub_1', 0.1 + 0.2)], 0)
    reopen()

    expect(checkpoint.limitPosition()).toEqual(at(20))
    expect(checkpoint.countersOf('sub_1', 'payments-v1')).toEqual(counters('sub_1', 0.1 + 0.2))
    expect(checkpoint.countersOf('sub_2', 'payments-v1')).toEqual(counters('sub_2', 4))
    expect(checkpoint.countersOf('sub_1', 'other-v1')).toBeNull()
  })

  it('are saved together with their position, or not at all', () => {
    checkpoint.saveCounters(at(10), [counters('sub_1', 3)], 0)
    const broken = { ...counters('sub_2', 1), api: null as unknown as string }

    expect(() => checkpoint.saveCounters(at(20), [counters('sub_1', 4), broken], 0)).toThrow('NOT NULL')
    expect(checkpoint.limitPosition()).toEqual(at(10))
    expect(checkpoint.countersOf('sub_1', 'payments-v1')).toEqual(counters('sub_1', 3))
  })

  it('expire after the longest window', () => {
    checkpoint.saveCounters(at(10), [counters('sub_1', 3)], 0)
    const daysMs = (days: number) => days * 86_400_000
    checkpoint.saveCounters(at(20), [counters('sub_2', 3)], daysMs(399))
    expect(checkpoint.countersOf('sub_1', 'payments-v1')).not.toBeNull()
    checkpoint.saveCounters(at(30), [], daysMs(401))
    expect(checkpoint.countersOf('sub_1', 'payments-v1')).toBeNull()
    expect(checkpoint.countersOf('sub_2', 'payments-v1')).not.toBeNull()
  })

  it('replaces the name of a consumer in cleared episodes, and in no other party', async () => {
    const message = 'Shop has been quiet at payments-v1 for five minutes.'
    const other = { kind: 'consumer', id: 'con_12', name: 'Shop' } as const
    checkpoint.commitRisk(
      at(1),
      [
        episode('rsk_1', 'cleared', { message }),
        episode('rsk_2', 'cleared', { message, attributedTo: other }),
        episode('rsk_3', 'cleared', { message, tenant: 'rival' }),
      ],
      [],
      0,
    )
    expect(await checkpoint.replaceConsumerName('acme', 'con_1', 'con_1')).toBe(1)
    expect(await checkpoint.replaceConsumerName('acme', 'con_1', 'con_1')).toBe(0)
    reopen()
    expect(checkpoint.clearedEpisode('acme', 'rsk_1')).toMatchObject({
      attributedTo: { kind: 'consumer', id: 'con_1', name: 'con_1' },
      message: 'con_1 has been quiet at payments-v1 for five minutes.',
    })
    expect(checkpoint.clearedEpisode('acme', 'rsk_2')).toMatchObject({ message, attributedTo: other })
    expect(checkpoint.clearedEpisode('rival', 'rsk_3')).toMatchObject({ message })
  })
})
