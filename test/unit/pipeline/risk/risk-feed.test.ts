import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { createRiskFeed } from '../../../../src/pipeline/risk/risk-feed.ts'
import {
  matches,
  openSqliteCheckpoint,
  type SqliteCheckpoint,
} from '../../../../src/storage/store/sqlite/checkpoint.ts'
import { createRandom } from '../../../random.ts'
import { START_MS } from '../../../fixtures/calls.ts'

let folder: string
let checkpoint: SqliteCheckpoint
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'feed-'))
  checkpoint = openSqliteCheckpoint({ path: join(folder, 'checkpoint.db'), newInstance: () => 'here' })
})
afterEach(() => {
  checkpoint.close()
  rmSync(folder, { recursive: true, force: true })
})

const idOf = (number: number) => `evt_${String(number).padStart(26, '0')}`
const event = (number: number, tenant = 'acme'): RiskEvent => ({
  id: idOf(number),
  riskId: `rsk_${number % 3}`,
  tenant,
  phase: 'updated',
  type: 'AuthFailure401',
  category: 'Security',
  severity: 'Info',
  attributedTo: { kind: 'consumer', id: 'con_1', name: 'Shop' },
  api: 'payments-v1',
  operation: '',
  count: 1,
  windowSeconds: 60,
  firstSeenMs: START_MS,
  lastSeenMs: START_MS + number,
  message: '',
  evidence: { total: 1, statuses: {}, reasons: {}, operations: {}, requestIds: [] },
})

/** A feed over a real checkpoint. `commitAndPublish` appends to the outbox; `moveToStore` sends one batch of it to the store. */
function openFeed() {
  const history: RiskEvent[] = []
  const broken: unknown[] = []
  /** `page` runs before each page of the store is returned. */
  const during = { page: () => {} }
  const feed = createRiskFeed({
    store: {
      async eventsAfter(tenant, afterId, limit) {
        const page = history.filter((each) => each.tenant === tenant && each.id > afterId).slice(0, limit)
        await Promise.resolve()
        during.page()
        return page
      },
      eventsOf: async (tenant, riskId, limit) =>
        history.filter((each) => each.tenant === tenant && each.riskId === riskId).slice(0, limit),
    },
    checkpoint,
    open: () => [],
    nowMs: () => START_MS,
    matches,
    onBroken: (cause) => broken.push(cause),
  })
  return {
    feed,
    history,
    broken,
    during,
    commitAndPublish(events: readonly RiskEvent[]) {
      checkpoint.commitRisk({}, [], events, 0)
      feed.publish(events)
    },
    moveToStore() {
      const batch = checkpoint.nextBatch()
      if (batch === null) return
      history.push(...batch.events)
      checkpoint.sent(batch)
    },
  }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
const collectIds = () => {
  const ids: string[] = []
  return { ids, listener: ({ id }: RiskEvent) => ids.push(id) }
}

describe('The risk feed', () => {
  it('starts with the next event if no id is given, and resumes after a given id', async () => {
    const { feed, commitAndPublish } = openFeed()
    commitAndPublish([event(1), event(2), event(3)])
    const [live, resumed] = [collectIds(), collectIds()]
    await feed.subscribe('acme', null, live.listener)
    await feed.subscribe('acme', idOf(1), resumed.listener)
    commitAndPublish([event(4)])

    expect(live.ids).toEqual([idOf(4)])
    expect(resumed.ids).toEqual([2, 3, 4].map(idOf))
  })

  it('sends a tenant no events of another tenant, live or resumed', async () => {
    const { feed, commitAndPublish, moveToStore } = openFeed()
    commitAndPublish([event(1, 'other'), event(2)])
    moveToStore()
    commitAndPublish([event(3, 'other'), event(4)])
    const { ids, listener } = collectIds()
    await feed.subscribe('acme', idOf(0), listener)
    commitAndPublish([event(5, 'other'), event(6)])

    expect(ids).toEqual([2, 4, 6].map(idOf))
  })

  it('resumes without gap or repeat over any mix of store, outbox and ring', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed)
      let next = seed * 10_000
      const first = next
      const some = () => numbers(next, (next += random.below(4))).map((number) => event(number))
      let opened = openFeed()
      for (let step = 0; step < 12; step++) {
        opened.commitAndPublish(some())
        if (random.below(3) === 0) opened.moveToStore()
        if (random.below(5) === 0) {
          // After a restart the ring is empty.
          const { history } = opened
          opened = openFeed()
          opened.history.push(...history)
        }
      }
      const after = first + random.below(Math.max(1, next - first))
      opened.during.page = () => {
        opened.commitAndPublish(some())
        if (random.below(2)) opened.moveToStore()
        opened.commitAndPublish(some())
      }
      const { ids, listener } = collectIds()
      await opened.feed.subscribe('acme', idOf(after), listener)
      opened.during.page = () => {}
      opened.commitAndPublish(some())
      opened.moveToStore()

      expect(ids, `seed ${seed}`).toEqual(numbers(after + 1, next).map(idOf))
      while (checkpoint.nextBatch() !== null) opened.moveToStore()
    }
  })

  it('resumes over several pages of the store', async () => {
    const { feed, history } = openFeed()
    history.push(...numbers(1, 3_500).map((number) => event(number)))
    checkpoint.commitRisk({}, [], [event(3_500)], 0)
    const restarted = openFeed()
    restarted.history.push(...history)
    const { ids, listener } = collectIds()
    await restarted.feed.subscribe('acme', idOf(10), listener)

    expect(ids).toEqual(numbers(11, 3_501).map(idOf))
    await feed.position({ tenant: 'acme', state: 'open', limit: 1 })
  })

  it('starts with the next event if the given id is newer than every event', async () => {
    const { feed, commitAndPublish } = openFeed()
    commitAndPublish([event(1)])
    const { ids, listener } = collectIds()
    await feed.subscribe('acme', 'evt_zzzzzzzzzzzzzzzzzzzzzzzzzz', listener)
    commitAndPublish([event(2)])

    expect(ids).toEqual([idOf(2)])
  })

  it('sends nothing after an unsubscribe, and drops a subscriber that throws without affecting the others', async () => {
    const { feed, commitAndPublish, broken } = openFeed()
    const [one, two] = [collectIds(), collectIds()]
    const stop = await feed.subscribe('acme', null, one.listener)
    await feed.subscribe('acme', null, () => {
      throw new Error('gone')
    })
    await feed.subscribe('acme', null, two.listener)
    commitAndPublish([event(1)])
    stop()
    commitAndPublish([event(2)])

    expect(one.ids).toEqual([idOf(1)])
    expect(two.ids).toEqual([1, 2].map(idOf))
    expect(broken).toHaveLength(1)
  })

  it('rejects a resume if the store fails, and leaves no subscription', async () => {
    checkpoint.commitRisk({}, [], [event(1)], 0)
    const { feed, during, commitAndPublish } = openFeed()
    during.page = () => {
      throw new Error('store is down')
    }
    const { ids, listener } = collectIds()
    await expect(feed.subscribe('acme', idOf(0), listener)).rejects.toThrow('store is down')
    commitAndPublish([event(2)])

    expect(ids).toEqual([])
  })

  it('returns the timeline of an episode from store and outbox, each event once', async () => {
    const { feed, commitAndPublish, moveToStore } = openFeed()
    const of = (number: number) => ({ ...event(number), tenant: 'acme', riskId: 'rsk_one' })
    commitAndPublish([of(1), of(2), { ...of(3), riskId: 'rsk_other' }])
    moveToStore()
    commitAndPublish([of(4)])
    const saved = { riskId: 'rsk_one', tenant: 'acme', state: 'cleared' as const, event: of(4), resume: null }
    checkpoint.commitRisk({}, [saved], [], 0)
    const shown = await feed.episode('acme', 'rsk_one')

    expect(shown).toMatchObject({ state: 'cleared', event: { id: event(4).id } })
    expect(shown?.timeline.map(({ id }) => id)).toEqual([event(1), event(2), event(4)].map(({ id }) => id))
    expect(await feed.episode('rival', 'rsk_one')).toBeNull()
    expect(await feed.episode('acme', 'rsk_none')).toBeNull()
  })
})
