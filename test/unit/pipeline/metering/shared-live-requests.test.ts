import { describe, expect, it } from 'vitest'
import { createSharedLiveRequests } from '../../../../src/pipeline/metering/shared-live-requests.ts'
import type { RequestLogMode } from '../../../../src/pipeline/metering/request-log.ts'
import type {
  FollowedRequests,
  FollowQuery,
  LoggedRequest,
  RequestFilter,
} from '../../../../src/storage/store/request-store.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const logged = (requestId: string, timeMs = START_MS): LoggedRequest => ({
  ...{ timeMs, tenant: 'acme', api: 'ledger-v1', operation: 'list', requestId, status: 200, outcome: 'served' },
  ...{
    consumer: 'con_1',
    consumerName: 'Shop',
    subscription: 'sub_1',
    agent: '',
    person: '',
    channel: 'http',
    revision: 3,
  },
  ...{ durationUs: 1, upstreamUs: 0, requestBytes: 0, responseBytes: 0, unitsMicro: 0, explanation: '' },
})

const found = (filter: number, requests: readonly LoggedRequest[], changes: Partial<FollowedRequests> = {}) => ({
  ...{ filter, writer: 'w1', lastFlush: 1, found: requests.length, requests },
  ...changes,
})

function open(mode: RequestLogMode = 'all') {
  const clock = createFakeClock(START_MS)
  const asked: FollowQuery[] = []
  const notes: unknown[] = []
  const state = { answer: (_: FollowQuery): Promise<readonly FollowedRequests[]> => Promise.resolve([]) }
  const live = createSharedLiveRequests({
    mode,
    clock,
    perSecondMax: 3,
    store: { follow: (query) => (asked.push(query), state.answer(query)) },
    log: { warn: () => void notes.push('warn') },
    count: (reason) => void notes.push(reason),
  })
  const subscribe = (filter: Partial<RequestFilter> = {}, sinceMs?: number) => {
    const got: (string | number)[] = []
    const listener = {
      onRequest: ({ requestId }: LoggedRequest) => void got.push(requestId),
      onSkipped: (count: number) => void got.push(count),
    }
    return { got, end: live.subscribe({ tenant: 'acme', ...filter }, listener, sinceMs) }
  }
  return { ...{ clock, asked, notes, state, live, subscribe }, stop: () => live.stop() }
}

describe('streams of the calls of all nodes', () => {
  it('cost one read a second, however many there are, and none without one', async () => {
    const { clock, asked, subscribe } = open()
    await clock.advance(10_000)
    expect(asked).toEqual([])
    const many = Array.from({ length: 50 }, (_, index) => subscribe({ tenant: `t${index % 5}`, api: `a${index % 2}` }))
    await clock.advance(3_000)
    expect(asked.map(({ filters }) => filters.length)).toEqual([10, 10, 10])
    for (const { end } of many) end()
    await clock.advance(10_000)
    expect([asked.length, clock.pending]).toEqual([3, 0])
  })

  it('get the calls of their filter, in the order of their times, and the number of the others', async () => {
    const { clock, state, subscribe } = open()
    const [one, same, other] = [subscribe(), subscribe(), subscribe({ tenant: 'rival' })]
    const late = logged('late', START_MS + 5)
    state.answer = async () => [
      found(0, [logged('a'), late], { found: 4 }),
      found(0, [logged('b', START_MS + 1), logged('c', START_MS + 2)], { writer: 'w2' }),
    ]
    await clock.advance(1_000)
    expect(one.got).toEqual(['a', 'b', 'c', 3])
    expect([same.got, other.got]).toEqual([one.got, []])
  })

  it('go on after the last flush of each writer; a new one gets earlier flushes once', async () => {
    const { clock, asked, state, subscribe } = open()
    subscribe()
    state.answer = async () => [found(0, [logged('a')], { lastFlush: 7 }), found(0, [], { writer: 'w2', lastFlush: 3 })]
    await clock.advance(1_000)
    expect(asked[0]).toMatchObject({ filters: [{ isFresh: true, sinceMs: START_MS - 1_000 }], position: new Map() })
    state.answer = async () => [found(0, [logged('b')], { lastFlush: 6 })]
    subscribe()
    await clock.advance(1_000)
    const position = new Map([
      ['w1', 7],
      ['w2', 3],
    ])
    expect(asked[1]).toMatchObject({ filters: [{ isFresh: false }, { isFresh: true, sinceMs: START_MS }], position })
    await clock.advance(1_000)
    expect(asked[2]!.filters).toMatchObject([{ isFresh: false, sinceMs: START_MS + 3_000 - 60_000 }])
    expect(asked[2]!.position).toEqual(position)
  })

  it('evict a writer that has stored nothing for two minutes', async () => {
    const { clock, asked, state, subscribe } = open()
    subscribe()
    state.answer = async () => [found(0, [logged('a')])]
    await clock.advance(1_000)
    state.answer = async () => []
    await clock.advance(122_000)
    expect(asked.at(-1)!.position.size).toBe(0)
  })

  it.each([
    ['a few seconds before its last call', START_MS - 20_000, START_MS - 25_000],
    ['a minute ago at most', 0, START_MS - 60_000],
    ['now, if its last call seems to be in the future', START_MS + 9e9, START_MS - 1_000],
  ])('resume %s', async (_, sinceMs, expectedMs) => {
    const { clock, asked, subscribe } = open()
    subscribe({}, sinceMs)
    await clock.advance(1_000)
    expect(asked[0]!.filters).toMatchObject([{ sinceMs: expectedMs, isFresh: true }])
  })

  it('share what one read returns, so that many filters and writers get fewer calls each', async () => {
    const { clock, asked, state, subscribe } = open()
    for (let index = 0; index < 200; index++) subscribe({ api: `a${index}` })
    const writers = Array.from({ length: 5 }, (_, index) => found(0, [logged('a')], { writer: `w${index}` }))
    state.answer = async () => writers
    await clock.advance(2_000)
    expect(asked.map(({ limit }) => limit)).toEqual([3, 2])
    state.answer = async () => Array.from({ length: 50 }, (_, index) => found(0, [], { writer: `v${index}` }))
    await clock.advance(2_000)
    expect(asked.at(-1)!.limit).toBe(1)
  })

  it('wait for a slow read, and read again after one that failed, which is told once', async () => {
    const { clock, asked, notes, state, subscribe } = open()
    const slow = Promise.withResolvers<readonly FollowedRequests[]>()
    const { got } = subscribe()
    state.answer = () => slow.promise
    await clock.advance(5_000)
    expect(asked).toHaveLength(1)
    slow.reject(new Error('ClickHouse is away'))
    state.answer = () => Promise.reject(new Error('still'))
    await clock.advance(3_000)
    expect([asked.length, notes]).toEqual([4, ['live_requests_not_read', 'warn']])
    expect(asked.at(-1)!.filters).toMatchObject([{ isFresh: true, sinceMs: START_MS - 1_000 }])
    state.answer = async () => [found(0, [logged('a')])]
    await clock.advance(1_000)
    expect(got).toEqual(['a'])
  })

  it('get nothing after their end, also from a read that was under way', async () => {
    const { clock, state, subscribe, stop } = open()
    const slow = Promise.withResolvers<readonly FollowedRequests[]>()
    state.answer = () => slow.promise
    const [ended, kept] = [subscribe(), subscribe()]
    await clock.advance(1_000)
    ended.end()
    slow.resolve([found(0, [logged('a'), logged('b')], { found: 9 })])
    await stop()
    expect([ended.got, kept.got]).toEqual([[], ['a', 'b', 7]])
    expect(clock.pending).toBe(0)
    expect(subscribe().got).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('read nothing if the nodes log no calls', async () => {
    const { clock, asked, subscribe } = open('off')
    subscribe()
    await clock.advance(5_000)
    expect([asked.length, clock.pending]).toEqual([0, 0])
  })
})
