import { describe, expect, it } from 'vitest'
import { compareAtStart, differences } from '../../../../src/storage/nodes/compare-settings.ts'
import { StartRefused } from '../../../../src/foundation/runtime/start-refused.ts'
import type { ListedNode } from '../../../../src/storage/store/nodes.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { listedNode } from '../../../fixtures/memory-nodes.ts'

const OWN = { MASTER_KEY: 'k', GATEWAY_URL: 'g', BASE_URL: 'b', ADMIN_TENANT: 't', REQUEST_LOG: 'r', RISK_URL: 'i' }

const other = (changes: Readonly<Record<string, string>>, more: Partial<ListedNode> = {}): ListedNode =>
  listedNode({ incarnation: 'i-2', name: 'b', settings: { ...OWN, ...changes }, ...more })

function start(listed: () => readonly ListedNode[], mayDiffer = false) {
  const clock = createFakeClock(0)
  const notes: unknown[] = []
  const count = (reason: string): void => void notes.push(reason)
  const log = { warn: (fields: unknown) => void notes.push(fields) }
  const nodes = { list: async () => listed() }
  const own = { incarnation: 'i-1', settings: OWN }
  return { clock, notes, done: compareAtStart({ nodes, ...own, mayDiffer, clock, log, count }) }
}

/** Returns the one line of the refusal. */
async function refusalOf(...given: Parameters<typeof start>): Promise<string> {
  const { clock, done } = start(...given)
  const refused = done.then(
    () => 'started',
    (cause: unknown) => (cause instanceof StartRefused ? cause.message : String(cause)),
  )
  await clock.advance(10_000)
  return refused
}

describe('the start of a node', () => {
  it.each([
    [{ GATEWAY_URL: 'x', BASE_URL: 'x' }, 'the live node b has another GATEWAY_URL and BASE_URL; set the same on all'],
    [{ RISK_URL: 'x' }, '(a change can roll: ADDRESSES_MAY_DIFFER)'],
    [{ ADMIN_TENANT: 'x' }, 'the live node b has another ADMIN_TENANT; set the same on all nodes'],
    [{ MASTER_KEY: 'x', BASE_URL: 'x', REQUEST_LOG: 'x' }, 'MASTER_KEY is not that of the live node b'],
  ])('is refused beside a live node with %o', async (changes, line) => {
    const refusal = await refusalOf(() => [listedNode({ settings: OWN }), other(changes)])
    expect(refusal).toContain(line)
    expect(refusal).not.toContain('\n')
  })

  it('may differ in its addresses if the operator says so, and in nothing that is a secret or the tenant', async () => {
    const { done, notes } = start(() => [other({ BASE_URL: 'x' })], true)
    await done
    expect(notes).toEqual(['node_settings_differ', { settings: ['BASE_URL'], nodes: ['b'] }])
    expect(await refusalOf(() => [other({ ADMIN_TENANT: 'x' })], true)).toContain('another ADMIN_TENANT')
    expect(await refusalOf(() => [other({ MASTER_KEY: 'x' })], true)).toContain('MASTER_KEY')
  })

  it('goes on beside its former process, silent nodes, and nodes of versions that tell nothing', async () => {
    const former = listedNode({ settings: { ...OWN, BASE_URL: 'x' } })
    const silent = other({ BASE_URL: 'x' }, { isLive: false })
    const { done, notes } = start(() => [former, silent, other({}, { settings: {} })])
    await done
    expect(notes).toEqual([])
  })

  it('waits until a node that was killed is no longer taken for a live one', async () => {
    let isLive = true
    const { clock, done } = start(() => [other({ BASE_URL: 'x' }, { isLive })])
    await clock.advance(4_000)
    isLive = false
    await clock.advance(1_000)
    await done
    expect(clock.pending).toBe(0)
  })

  it('logs the other differences, with the nodes that have them', async () => {
    const third = other({ REQUEST_LOG: 'x' }, { name: 'c', incarnation: 'i-3' })
    const { done, notes } = start(() => [other({}), third])
    await done
    expect(notes).toEqual(['node_settings_differ', { settings: ['REQUEST_LOG'], nodes: ['c'] }])
  })
})

describe('the differences in a list', () => {
  const node = (name: string, value: string | null, registeredAtMs: number): ListedNode =>
    listedNode({ name, registeredAtMs, settings: value === null ? {} : { REQUEST_LOG: value } })
  const shown = (...listed: ListedNode[]) => listed.filter((each) => differences(listed)(each).length > 0)

  it('are those from most nodes', () => {
    const odd = node('a', 'x', 1)
    expect(shown(odd, node('b', 'y', 2), node('c', 'y', 3))).toEqual([odd])
    expect(differences([odd, node('b', 'y', 2), node('c', 'y', 3)])(odd)).toEqual(['REQUEST_LOG'])
  })

  it('are those of the node that came last, if as many have one value as the other', () => {
    const later = node('a', 'x', 5)
    expect(shown(later, node('b', 'y', 2))).toEqual([later])
  })

  it('are none with a node that tells nothing, nor alone', () => {
    expect(shown(node('a', 'x', 1), node('b', null, 2))).toEqual([])
    expect(shown(node('a', 'x', 1))).toEqual([])
    expect(shown()).toEqual([])
  })
})
