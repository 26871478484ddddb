import { describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { LiveRiskFeed } from '../../../../src/pipeline/risk/live-risk-feed.ts'
import { DEFAULT_RISK_RULES } from '../../../../src/pipeline/risk/risk-rules.ts'
import { createSharedRiskFeed, waitingEvents } from '../../../../src/pipeline/risk/shared-risk-feed.ts'
import type { SavedEpisode } from '../../../../src/storage/store/risk-checkpoint.ts'
import { matches } from '../../../../src/storage/store/sqlite/checkpoint.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { callsOf, openTestDetector } from '../../../fixtures/test-risk-detector.ts'

const idOf = (number: number): string => `evt_${String(number).padStart(6, '0')}`
const event = (number: number, fields: Partial<RiskEvent> = {}): RiskEvent => riskEvent({ id: idOf(number), ...fields })
const ready = async (): Promise<void> => {}

function saved(
  number: number,
  fields: Partial<RiskEvent> = {},
  state: SavedEpisode['state'] = 'cleared',
): SavedEpisode {
  const riskId = `rsk_${String(number).padStart(6, '0')}`
  return { riskId, tenant: 'acme', state, event: riskEvent({ riskId, ...fields }), resume: null }
}

/** The history has the first `stored` events; PostgreSQL has those after `removed`. */
function open({
  episodes = [],
  events = [],
  stored = 0,
  removed = 0,
}: Partial<{
  episodes: readonly SavedEpisode[]
  events: readonly RiskEvent[]
  stored: number
  removed: number
}>) {
  const shared = events.slice(removed)
  const history = events.slice(0, stored)
  let lists = 0
  const feed = {
    inHistory: async () => stored,
    eventsAfter: async (query: { tenant: string; id: string; limit: number }) =>
      shared.filter(({ tenant, id }) => tenant === query.tenant && id > query.id).slice(0, query.limit),
    eventsOf: async (tenant: string, riskId: string) =>
      shared.filter((each) => each.tenant === tenant && each.riskId === riskId),
  }
  const store = {
    eventsAfter: async (tenant: string, after: string, limit: number) =>
      history.filter((each) => each.tenant === tenant && each.id > after).slice(0, limit),
    eventsOf: async (tenant: string, riskId: string) =>
      history.filter((each) => each.tenant === tenant && each.riskId === riskId),
  }
  const live = new LiveRiskFeed({
    store,
    checkpoint: {
      lastEventId: () => events.at(-1)?.id ?? '',
      waiting: (tenant, afterId) => waitingEvents(feed, tenant, afterId),
    },
    onBroken: () => {},
  })
  const risks = createSharedRiskFeed({
    live,
    episodes: {
      async list({ tenant, state, after, limit }) {
        lists++
        return episodes
          .filter((each) => each.tenant === tenant && each.state === state && each.riskId > after)
          .slice(0, limit)
      },
      get: async (tenant, riskId) => episodes.find((each) => each.tenant === tenant && each.riskId === riskId) ?? null,
    },
    feed,
    store,
    rules: DEFAULT_RISK_RULES,
    nowMs: () => START_MS + 61_000,
    matches,
  })
  return { risks, live, lists: () => lists }
}

describe('The risks of several nodes', () => {
  it('are filtered and paged', async () => {
    const episodes = Array.from({ length: 1_300 }, (_, index) =>
      saved(index, { api: index % 100 === 0 ? 'rare-v1' : 'payments-v1' }),
    )
    const { risks, lists } = open({ episodes })
    const query = { tenant: 'acme', state: 'cleared', api: 'rare-v1' } as const
    const idsOf = (found: readonly { event: RiskEvent }[]) =>
      found.map(({ event: { riskId } }) => Number(riskId.slice(4)))
    expect(idsOf(await risks.position({ ...query, limit: 3 }))).toEqual([0, 100, 200])
    expect(lists()).toBe(1)
    expect(idsOf(await risks.position({ ...query, limit: 100, after: 'rsk_000900' }))).toEqual([1_000, 1_100, 1_200])
    expect(await risks.position({ ...query, tenant: 'globex', limit: 10 })).toEqual([])
  })

  it('count the window of an open episode as of now', async () => {
    const detector = openTestDetector()
    detector.add([...callsOf(3, 'operation_forbidden'), ...callsOf(2, 'operation_forbidden', START_MS + 30_000)])
    const { risks } = open({ episodes: detector.save() })
    const [found] = await risks.position({ tenant: 'acme', state: 'open', limit: 10 })
    expect(found).toMatchObject({ state: 'open', event: { count: 2, severity: 'Warning', evidence: { total: 5 } } })
  })

  it('have a timeline from the history and from PostgreSQL, each event once', async () => {
    const { riskId } = saved(1)
    const events = [1, 2, 3, 4].map((number) => event(number, { riskId: number === 3 ? 'rsk_other' : riskId }))
    const { risks } = open({ episodes: [saved(1)], events, stored: 2, removed: 1 })
    const found = await risks.episode('acme', riskId)
    expect(found?.timeline.map(({ id }) => id)).toEqual([1, 2, 4].map(idOf))
    expect(await risks.episode('globex', riskId)).toBeNull()
  })

  it.each([
    { stored: 0, removed: 0 },
    { stored: 1_200, removed: 0 },
    { stored: 1_200, removed: 1_100 },
    { stored: 2_500, removed: 2_500 },
  ])('resume after any event, of which the history has $stored and PostgreSQL lacks $removed', async (held) => {
    const events = Array.from({ length: 2_500 }, (_, index) =>
      event(index, index % 5 === 0 ? { tenant: 'globex' } : {}),
    )
    const { risks, live } = open({ events, ...held })
    for (const after of [0, 1_150, 2_498]) {
      const heard: string[] = []
      const stop = await risks.subscribe('acme', idOf(after), ({ id }) => heard.push(id), ready)
      const expected = events.filter(({ id, tenant }) => tenant === 'acme' && id > idOf(after)).map(({ id }) => id)
      expect(heard).toEqual(expected)
      stop()
    }
    const heard: string[] = []
    await risks.subscribe('acme', null, ({ id }) => heard.push(id), ready)
    live.publish([event(2_501)])
    expect(heard).toEqual([idOf(2_501)])
  })
})
