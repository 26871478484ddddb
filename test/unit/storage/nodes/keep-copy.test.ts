import { describe, expect, it } from 'vitest'
import { keepCopy } from '../../../../src/storage/nodes/keep-copy.ts'
import type { Change } from '../../../../src/storage/store/registry.ts'
import type { RegistryMark } from '../../../../src/storage/store/registry-copy.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

/** A registry whose end the test sets, and a copy that notes what happens to it. */
function open(from: number, begins = true) {
  const clock = createFakeClock(1_000_000)
  const notes: string[] = []
  const failures: unknown[] = []
  let end = from
  let fault: Error | null = null
  let mark: RegistryMark | null = null
  let listener: (change: Change) => void = () => {}
  const keeper = keepCopy(
    {
      copy: {
        get mark() {
          return mark
        },
        expect: (position) => void notes.push(`expect ${position}`),
        async update(read) {
          mark = await read({ clear() {}, receive() {} })
          notes.push(`at ${mark.position}`)
        },
      },
      registry: {
        watch(_position, next) {
          listener = next
          return () => (listener = () => {})
        },
      },
      snapshots: {
        async read() {
          if (fault !== null) throw fault
          return { position: end, commitId: String(end) }
        },
      },
      except: ['delivery'],
      effective: new Set(['credential']),
      clock,
      onFailed: (cause) => void failures.push(cause),
    },
    from,
  )
  if (begins) keeper.begin()
  function change(kind: string): void {
    const document = { kind, id: 'a', tenant: 't', revision: 1, body: {}, createdAtMs: 0, updatedAtMs: 0 }
    listener({ position: ++end, document, removed: false })
  }
  return { clock, keeper, notes, failures, change, fail: (next: Error | null) => (fault = next) }
}

describe('the keeper of a copy', () => {
  it('notes what the node acknowledges before it begins, and writes nothing until then', async () => {
    const { clock, keeper, notes, change } = open(5, false)
    change('credential')
    await clock.advance(5_000)
    expect(notes).toEqual(['expect 5', 'expect 6'])
    expect(keeper.lag).toBe(2)
    keeper.begin()
    await clock.advance(1_000)
    expect(notes.at(-1)).toBe('at 6')
    expect(keeper.lag).toBe(0)
  })

  it('notes a change that the node acknowledges at once, and writes the copy later', async () => {
    const { clock, keeper, notes, change } = open(5)
    expect(notes).toEqual(['expect 5'])
    await clock.advance(1_000)
    expect(notes.splice(0)).toEqual(['expect 5', 'at 5'])
    await clock.advance(1_000)
    change('credential')
    change('session')
    expect(notes).toEqual(['expect 6'])
    expect(keeper.lag).toBe(2)
    await clock.advance(100)
    expect(notes).toEqual(['expect 6', 'at 7'])
    expect(keeper.lag).toBe(0)
  })

  it('writes at most once a second, and not for kinds that it leaves out', async () => {
    const { clock, keeper, notes, change } = open(0)
    await clock.advance(2_000)
    notes.length = 0
    change('delivery')
    await clock.advance(5_000)
    expect(notes).toEqual([])
    for (let times = 0; times < 30; times++) {
      change('session')
      await clock.advance(100)
    }
    expect(notes).toEqual(['at 2', 'at 12', 'at 22'])
    await keeper.stop()
    expect(clock.pending).toBe(0)
  })

  it('repeats an update that failed, more and more seldom', async () => {
    const { clock, keeper, notes, failures, fail } = open(3)
    fail(new Error('away'))
    await clock.advance(1_000 + 1_000 + 2_000 + 4_000)
    expect(failures).toHaveLength(4)
    expect(keeper.lag).toBe(1)
    fail(null)
    await clock.advance(8_000)
    expect(notes).toEqual(['expect 3', 'at 3'])
    expect(keeper.lag).toBe(0)
  })
})
