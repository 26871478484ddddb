import { describe, expect, it } from 'vitest'
import { followRegistry, type Follow } from '../../../../src/storage/nodes/follow-registry.ts'
import type { Change } from '../../../../src/storage/store/registry.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

function change(position: number, kind: string, id: string, revision = 1): Change {
  const document = { kind, id, tenant: 'default', revision, body: {}, createdAtMs: 0, updatedAtMs: 0 }
  return { position, document, removed: false }
}

/** A follower whose handler waits until the test lets it go. */
function setUp(kinds: readonly string[] = ['api']) {
  const clock = createFakeClock(0)
  let send = (_: Change): void => {}
  const begun: string[] = []
  const open: { readonly name: string; readonly end: PromiseWithResolvers<void> }[] = []
  const reached: number[] = []
  const failures: string[] = []
  const follow: Follow = {
    lane: ({ document }) => document.id,
    apply({ document, position }) {
      const end = Promise.withResolvers<void>()
      begun.push(`${document.id} ${position}`)
      open.push({ name: document.id, end })
      return end.promise
    },
    isContained: (cause) => cause instanceof RangeError,
  }
  const follower = followRegistry(
    {
      registry: {
        watch(_, listener) {
          send = listener
          return () => (send = () => {})
        },
      },
      follows: new Map(kinds.map((kind) => [kind, follow])),
      clock,
      onFailed: (cause, { position }) => failures.push(`${position} ${String(cause)}`),
      onReached: (position) => reached.push(position),
    },
    10,
  )
  const settle = async (name: string, fault?: Error): Promise<void> => {
    const at = open.findIndex((each) => each.name === name)
    const [found] = open.splice(at, 1)
    if (fault === undefined) found!.end.resolve()
    else found!.end.reject(fault)
    await clock.advance(0)
  }
  return { clock, follower, begun, reached, failures, settle, send: (next: Change) => send(next) }
}

describe('a follower', () => {
  it('reaches the position of a change when the change is applied, and of others at once', async () => {
    const { follower, send, settle, reached } = setUp()
    expect(follower.position).toBe(10)
    send(change(11, 'audit', 'x'))
    expect(follower.position).toBe(11)
    send(change(12, 'api', 'a'))
    expect(follower.position).toBe(11)
    send(change(13, 'audit', 'x'))
    expect(follower.position).toBe(11)
    await settle('a')
    expect(follower.position).toBe(13)
    expect(reached).toEqual([11, 13])
  })

  it('applies lanes beside each other, and stays before the earliest that waits', async () => {
    const { follower, send, settle, begun } = setUp()
    send(change(11, 'api', 'slow'))
    send(change(12, 'api', 'quick'))
    expect(begun).toEqual(['slow 11', 'quick 12'])
    await settle('quick')
    expect(follower.position).toBe(10)
    await settle('slow')
    expect(follower.position).toBe(12)
  })

  it('applies the changes of a lane one at a time, and of those that wait only the latest', async () => {
    const { follower, send, settle, begun } = setUp()
    for (const position of [11, 12, 13, 14]) send(change(position, 'api', 'a'))
    expect(begun).toEqual(['a 11'])
    await settle('a')
    expect(begun).toEqual(['a 11', 'a 14'])
    // 12 and 13 are part of what waits.
    expect(follower.position).toBe(11)
    await settle('a')
    expect(follower.position).toBe(14)
  })

  it('tries again what failed, with what came meanwhile, and stays before it', async () => {
    const { clock, follower, send, settle, begun, failures } = setUp()
    send(change(11, 'api', 'a'))
    await settle('a', new Error('no memory'))
    expect([failures, follower.position]).toEqual([['11 Error: no memory'], 10])
    send(change(12, 'api', 'a'))
    expect(begun).toEqual(['a 11'])
    await clock.advance(200)
    expect(begun).toEqual(['a 11', 'a 12'])
    expect(follower.position).toBe(10)
    await settle('a', new Error('again'))
    await clock.advance(399)
    expect(begun).toHaveLength(2)
    await clock.advance(1)
    await settle('a')
    expect(follower.position).toBe(12)
  })

  it('goes on past a change whose failure is contained, and tries it again after 5 s, 10 s, and so on', async () => {
    const { clock, follower, send, settle, begun, failures } = setUp()
    send(change(11, 'api', 'bad'))
    send(change(12, 'api', 'good'))
    await settle('good')
    expect(follower.position).toBe(10)
    await settle('bad', new RangeError('does not compile'))
    expect([failures, follower.position]).toEqual([['11 RangeError: does not compile'], 12])
    await clock.advance(4_999)
    expect(begun).toHaveLength(2)
    await clock.advance(1)
    expect(begun.at(-1)).toBe('bad 11')
    await settle('bad', new RangeError('does not compile'))
    await clock.advance(9_999)
    expect(begun).toHaveLength(3)
    await clock.advance(1)
    await settle('bad')
    expect(clock.pending).toBe(0)
    send(change(13, 'api', 'other'))
    await settle('other')
    expect(follower.position).toBe(13)
  })

  it('tries a later change at once after a contained failure, and waits for it', async () => {
    const { clock, follower, send, settle, begun } = setUp()
    send(change(11, 'api', 'a'))
    await settle('a', new RangeError('does not compile'))
    expect(follower.position).toBe(11)
    send(change(12, 'api', 'a'))
    expect([begun.at(-1), follower.position]).toEqual(['a 12', 11])
    await settle('a')
    expect([clock.pending, follower.position]).toEqual([0, 12])
  })

  it('waits for a change that comes while a contained one is tried again, whatever becomes of that', async () => {
    for (const fault of [new RangeError('does not compile'), new Error('registry away'), undefined]) {
      const { clock, follower, send, settle, begun } = setUp()
      send(change(11, 'api', 'a'))
      await settle('a', new RangeError('does not compile'))
      await clock.advance(5_000)
      send(change(12, 'api', 'a'))
      expect(follower.position).toBe(11)
      await settle('a', fault)
      expect(follower.position).toBe(11)
      await clock.advance(10_000)
      expect([begun.at(-1), follower.position]).toEqual(['a 12', 11])
      await settle('a')
      expect(follower.position).toBe(12)
    }
  })

  it('ends without a timer, and without a change that comes late', async () => {
    const { clock, follower, send, settle, begun } = setUp()
    send(change(11, 'api', 'a'))
    await settle('a', new Error('no memory'))
    await follower.stop()
    expect(clock.pending).toBe(0)
    send(change(12, 'api', 'a'))
    expect(begun).toEqual(['a 11'])
  })
})
