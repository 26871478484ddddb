import { describe, expect, it } from 'vitest'
import { createAcknowledgements } from '../../../../../src/storage/store/postgres/acknowledgements.ts'
import { UNKNOWN_NODES, type ListedNode } from '../../../../../src/storage/store/nodes.ts'
import { createFakeClock, settled } from '../../../../fixtures/fake-clock.ts'

const node = (name: string, position: number, silentMs = 0, staleAfterMs: number | null = null): ListedNode => ({
  incarnation: name,
  name,
  version: '1',
  format: 1,
  settings: {},
  registeredAtMs: 0,
  position,
  silentMs,
  isLive: silentMs < 5_000,
  staleAfterMs,
  clockOffsetMs: 0,
  isReplaced: false,
})

function open(nodes: readonly ListedNode[], staleAfterMs: number | null = null) {
  const clock = createFakeClock(0)
  const state = { nodes, reads: 0, isAway: false }
  const acknowledgements = createAcknowledgements({
    clock,
    staleAfterMs,
    async list() {
      state.reads++
      if (state.isAway) throw new Error('away')
      return state.nodes
    },
  })
  return { clock, state, acknowledgements }
}

/** Returns a function that returns the result so far. */
function observe(promise: Promise<readonly string[]>): () => readonly string[] | 'waiting' {
  let result: readonly string[] | 'waiting' = 'waiting'
  void promise.then((names) => (result = names))
  return () => result
}

describe('acknowledgements', () => {
  it('are found by a poll if no notification arrives, and the poll ends with the last one', async () => {
    const { clock, state, acknowledgements } = open([node('a', 5), node('b', 4)])
    const result = observe(acknowledgements.wait(5, 5_000))
    await clock.advance(1_000)
    expect(result()).toBe('waiting')
    state.nodes = [node('a', 5), node('b', 5)]
    await clock.advance(250)
    expect(result()).toEqual([])
    expect(clock.pending).toBe(0)
    const { reads } = state
    acknowledgements.check()
    await settled()
    expect(state.reads).toBe(reads)
  })

  it('read one list for all that wait', async () => {
    const { state, acknowledgements } = open([node('a', 100)])
    const results = await Promise.all(Array.from({ length: 50 }, (_, index) => acknowledgements.wait(index, 5_000)))
    expect(results.flat()).toEqual([])
    expect(state.reads).toBeLessThanOrEqual(2)
  })

  it('do not take a list that was read before they were asked for', async () => {
    const clock = createFakeClock(0)
    const lists = [Promise.withResolvers<readonly ListedNode[]>(), Promise.withResolvers<readonly ListedNode[]>()]
    let reads = 0
    const acknowledgements = createAcknowledgements({ clock, staleAfterMs: null, list: () => lists[reads++]!.promise })
    const first = observe(acknowledgements.wait(3, 5_000))
    const second = observe(acknowledgements.wait(4, 5_000))
    lists[0]!.resolve([node('a', 4)])
    await settled()
    expect([first(), second()]).toEqual([[], 'waiting'])
    lists[1]!.resolve([node('a', 4), node('joined', 0, 9_000)])
    await settled()
    expect(second()).toEqual(['joined'])
  })

  it('name the nodes of the last list if the list cannot be read until the limit', async () => {
    const { clock, state, acknowledgements } = open([node('a', 5), node('b', 4)])
    const result = observe(acknowledgements.wait(5, 5_000))
    await clock.advance(300)
    state.isAway = true
    await clock.advance(4_000)
    expect(result()).toBe('waiting')
    await clock.advance(1_000)
    expect(result()).toEqual(['b'])
    expect(clock.pending).toBe(0)
  })

  it('say so if the list could not be read since they were asked for', async () => {
    const { clock, state, acknowledgements } = open([node('a', 5), node('b', 5)])
    expect(await acknowledgements.wait(5, 5_000)).toEqual([])
    state.isAway = true
    const result = observe(acknowledgements.wait(6, 5_000))
    await clock.advance(5_000)
    expect(result()).toEqual(['a', 'b', UNKNOWN_NODES])
  })

  it('wait for a node until it is silent for too long', async () => {
    const { clock, state, acknowledgements } = open([node('a', 5), node('b', 4, 4_900)])
    const result = observe(acknowledgements.wait(5, 5_000))
    await settled()
    expect(result()).toBe('waiting')
    state.nodes = [node('a', 5), node('b', 4, 5_100)]
    await clock.advance(250)
    expect(result()).toEqual(['b'])
  })

  it('wait for a node that refuses calls without the registry until it does, by its silence or by the time', async () => {
    const { clock, state, acknowledgements } = open([node('a', 5), node('b', 4, 6_000, 60_000)])
    const silent = observe(acknowledgements.wait(5, 5_000))
    await clock.advance(20_000)
    expect(silent()).toBe('waiting')
    state.nodes = [node('a', 5), node('b', 4, 60_000, 60_000)]
    await clock.advance(250)
    expect(silent()).toEqual(['b'])

    // It reports, and makes no progress.
    state.nodes = [node('a', 5), node('b', 4, 100, 60_000)]
    const stuck = observe(acknowledgements.wait(5, 5_000))
    await clock.advance(59_000)
    expect(stuck()).toBe('waiting')
    await clock.advance(1_500)
    expect(stuck()).toEqual(['b'])
    expect(clock.pending).toBe(0)
  })

  it('do not name a node that was replaced, once it refuses calls without the registry', async () => {
    const stale = { ...node('a', 4, 60_000, 60_000), isReplaced: true }
    const namedOf = (...nodes: ListedNode[]) => open(nodes).acknowledgements.wait(5, 0)
    expect(await namedOf(stale, node('b', 5))).toEqual([])
    expect(await namedOf({ ...stale, isReplaced: false })).toEqual(['a'])
    const serving = { ...stale, staleAfterMs: null }
    expect(await namedOf(serving, { ...serving, incarnation: 'b' })).toEqual(['a'])
  })

  it('do not wait longer for other nodes because one of them refuses calls without the registry', async () => {
    const { clock, state, acknowledgements } = open([node('never', 4), node('stale', 4, 59_900, 60_000)])
    const result = observe(acknowledgements.wait(5, 5_000))
    await clock.advance(5_000)
    expect(result()).toBe('waiting')
    state.nodes = [node('never', 4), node('stale', 4, 60_100, 60_000)]
    await clock.advance(250)
    expect(result()).toEqual(['never', 'stale'])
  })

  it('wait as long as this node refuses calls if the list cannot be read', async () => {
    const { clock, state, acknowledgements } = open([], 60_000)
    state.isAway = true
    const result = observe(acknowledgements.wait(5, 5_000))
    await clock.advance(59_999)
    expect(result()).toBe('waiting')
    await clock.advance(1)
    expect(result()).toEqual([UNKNOWN_NODES])
    expect(clock.pending).toBe(0)
  })
})
