import { describe, expect, it } from 'vitest'
import { createLastUses } from '../../../../src/control/access/last-uses.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const MINUTE_MS = 60_000

function open() {
  const clock = createFakeClock(10 * MINUTE_MS + 1)
  const stored = new Map<string, number>()
  const writes: string[][] = []
  const failures: unknown[] = []
  const state = { isDown: false }
  const store = {
    async store(minutes: ReadonlyMap<string, number>) {
      if (state.isDown) throw new Error('the disk is full')
      writes.push([...minutes.keys()])
      minutes.forEach((minute, id) => stored.set(id, Math.max(minute, stored.get(id) ?? 0)))
    },
    async remove(ids: readonly string[]) {
      for (const id of ids) stored.delete(id)
    },
    async read(ids: readonly string[]) {
      return new Map(ids.flatMap((id) => (stored.has(id) ? [[id, stored.get(id)!] as const] : [])))
    },
  }
  const uses = createLastUses({ store, clock, onFailed: (cause) => failures.push(cause) })
  return { ...uses, clock, state, writes, failures, stored }
}

describe('the last use of a credential', () => {
  it('is the beginning of its minute, and known before it is stored', async () => {
    const { note, read, writes } = open()
    note(['crd_1'])
    expect([...(await read(['crd_1', 'crd_2']))]).toEqual([['crd_1', 10 * MINUTE_MS]])
    expect(writes).toEqual([])
  })

  it('is stored once a minute, whatever the number of uses, together with the others', async () => {
    const { note, read, clock, writes } = open()
    for (let use = 0; use < 1_000; use++) note(['crd_1', `crd_${use % 3}`])
    await clock.advance(MINUTE_MS)
    await clock.advance(5 * MINUTE_MS)
    expect(writes).toEqual([['crd_1', 'crd_0', 'crd_2']])
    expect((await read(['crd_2'])).get('crd_2')).toBe(10 * MINUTE_MS)
  })

  it('does not go back if a thread reports an earlier minute later', async () => {
    const { note, read } = open()
    note(['crd_1'], 12)
    note(['crd_1'], 11)
    expect((await read(['crd_1'])).get('crd_1')).toBe(12 * MINUTE_MS)
  })

  it('is kept if the store refuses it, and stored later', async () => {
    const { note, clock, state, writes, failures, stored } = open()
    state.isDown = true
    note(['crd_1'])
    await clock.advance(MINUTE_MS)
    note(['crd_2'])
    await clock.advance(MINUTE_MS)
    expect([failures.length, writes]).toEqual([2, []])
    state.isDown = false
    await clock.advance(MINUTE_MS)
    expect(Object.fromEntries(stored)).toEqual({ crd_1: 10, crd_2: 11 })
  })

  it('is known while it is being stored, and a stop waits for that', async () => {
    const clock = createFakeClock(10 * MINUTE_MS)
    const { promise, reject } = Promise.withResolvers<void>()
    const stored: string[] = []
    const store = {
      store: async (minutes: ReadonlyMap<string, number>) => {
        stored.push([...minutes.keys()].join())
        if (stored.length === 1) await promise
      },
      read: async () => new Map<string, number>(),
      remove: async () => {},
    }
    const { note, flush, read, close } = createLastUses({ store, clock, onFailed: () => {} })
    note(['crd_1'])
    void flush()
    await Promise.resolve()
    expect((await read(['crd_1'])).get('crd_1')).toBe(10 * MINUTE_MS)
    const closed = close()
    reject(new Error('the server is away'))
    await closed
    // The stop stores again what was refused.
    expect(stored).toEqual(['crd_1', 'crd_1'])
  })

  it('is stored when the service stops', async () => {
    const { note, close, clock, writes } = open()
    note(['crd_1'])
    await close()
    await clock.advance(10 * MINUTE_MS)
    expect(writes).toEqual([['crd_1']])
  })
})
