import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../src/domain/risk.ts'
import { createRiskFeed } from '../../../src/risk/risk-feed.ts'
import { matches, openSqliteCheckpoint, type SqliteCheckpoint } from '../../../src/store/sqlite/checkpoint.ts'
import { createRandom } from '../../random.ts'
import { START_MS } from '../../fixtures/calls.ts'

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

/** A feed whose events go the whole way: committed, told, and moved to the store when it is asked to. */
function open() {
  const history: RiskEvent[] = []
  const broken: unknown[] = []
  /** Runs while a page is on its way from the store. */
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
    tell(events: readonly RiskEvent[]) {
      checkpoint.commitRisk({}, [], events, 0)
      feed.publish(events)
    },
    move() {
      const batch = checkpoint.nextBatch()
      if (batch === null) return
      history.push(...batch.events)
      checkpoint.sent(batch)
    },
  }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
const heard = () => {
  const ids: string[] = []
  return { ids, listener: ({ id }: RiskEvent) => ids.push(id) }
}

describe('risk feed', () => {
  it('starts from now without an id, and after an id with what was missed', async () => {
    const { feed, tell } = open()
    tell([event(1), event(2), event(3)])
    const [live, resumed] = [heard(), heard()]
    await feed.subscribe('acme', null, live.listener)
    await feed.subscribe('acme', idOf(1), resumed.listener)
    tell([event(4)])

    expect(live.ids).toEqual([idOf(4)])
    expect(resumed.ids).toEqual([2, 3, 4].map(idOf))
  })

  it('gives a tenant nothing of another, live or resumed', async () => {
    const { feed, tell, move } = open()
    tell([event(1, 'other'), event(2)])
    move()
    tell([event(3, 'other'), event(4)])
    const { ids, listener } = heard()
    await feed.subscribe('acme', idOf(0), listener)
    tell([event(5, 'other'), event(6)])

    expect(ids).toEqual([2, 4, 6].map(idOf))
  })

  it('resumes without gap or repeat over the store, what waits for it, and memory, in every mixture', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed)
      let next = seed * 10_000
      const first = next
      const some = () => numbers(next, (next += random.below(4))).map((number) => event(number))
      let world = open()
      for (let step = 0; step < 12; step++) {
        world.tell(some())
        if (random.below(3) === 0) world.move()
        if (random.below(5) === 0) {
          // As after a restart: memory is empty.
          const { history } = world
          world = open()
          world.history.push(...history)
        }
      }
      const after = first + random.below(Math.max(1, next - first))
      world.during.page = () => {
        world.tell(some())
        if (random.below(2)) world.move()
        world.tell(some())
      }
      const { ids, listener } = heard()
      await world.feed.subscribe('acme', idOf(after), listener)
      world.during.page = () => {}
      world.tell(some())
      world.move()

      expect(ids, `seed ${seed}`).toEqual(numbers(after + 1, next).map(idOf))
      while (checkpoint.nextBatch() !== null) world.move()
    }
  })

  it('reads a long past page by page', async () => {
    const { feed, history } = open()
    history.push(...numbers(1, 3_500).map((number) => event(number)))
    checkpoint.commitRisk({}, [], [event(3_500)], 0)
    const restarted = open()
    restarted.history.push(...history)
    const { ids, listener } = heard()
    await restarted.feed.subscribe('acme', idOf(10), listener)

    expect(ids).toEqual(numbers(11, 3_501).map(idOf))
    await feed.position({ tenant: 'acme', state: 'open', limit: 1 })
  })

  it('tells from now where the id is none that was ever given', async () => {
    const { feed, tell } = open()
    tell([event(1)])
    const { ids, listener } = heard()
    await feed.subscribe('acme', 'evt_zzzzzzzzzzzzzzzzzzzzzzzzzz', listener)
    tell([event(2)])

    expect(ids).toEqual([idOf(2)])
  })

  it('stops at once, and one subscriber that throws is no trouble of the others', async () => {
    const { feed, tell, broken } = open()
    const [one, two] = [heard(), heard()]
    const stop = await feed.subscribe('acme', null, one.listener)
    await feed.subscribe('acme', null, () => {
      throw new Error('gone')
    })
    await feed.subscribe('acme', null, two.listener)
    tell([event(1)])
    stop()
    tell([event(2)])

    expect(one.ids).toEqual([idOf(1)])
    expect(two.ids).toEqual([1, 2].map(idOf))
    expect(broken).toHaveLength(1)
  })

  it('refuses to resume while the store is away, and leaves no listener behind', async () => {
    checkpoint.commitRisk({}, [], [event(1)], 0)
    const { feed, during, tell } = open()
    during.page = () => {
      throw new Error('away')
    }
    const { ids, listener } = heard()
    await expect(feed.subscribe('acme', idOf(0), listener)).rejects.toThrow('away')
    tell([event(2)])

    expect(ids).toEqual([])
  })

  it('shows the timeline of one episode over the store and what waits for it, each event once', async () => {
    const { feed, tell, move } = open()
    const of = (number: number) => ({ ...event(number), tenant: 'acme', riskId: 'rsk_one' })
    tell([of(1), of(2), { ...of(3), riskId: 'rsk_other' }])
    move()
    tell([of(4)])
    const saved = { riskId: 'rsk_one', tenant: 'acme', state: 'cleared' as const, event: of(4), resume: null }
    checkpoint.commitRisk({}, [saved], [], 0)
    const shown = await feed.episode('acme', 'rsk_one')

    expect(shown).toMatchObject({ state: 'cleared', event: { id: event(4).id } })
    expect(shown?.timeline.map(({ id }) => id)).toEqual([event(1), event(2), event(4)].map(({ id }) => id))
    expect(await feed.episode('rival', 'rsk_one')).toBeNull()
    expect(await feed.episode('acme', 'rsk_none')).toBeNull()
  })
})
