import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { createRetries } from '../../../../src/control/command/retries.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

function open() {
  const clock = createFakeClock(0)
  const retries = createRetries({ clock })
  const runs: string[] = []
  const fail = (key: string, cause: unknown = new Error('broken')) =>
    retries.schedule(key, cause, () => runs.push(`${key} ${clock.nowMs()}`))
  return { clock, retries, runs, fail }
}

describe('a retry', () => {
  it('has a delay that doubles with each consecutive failure of its key, up to one hour', async () => {
    const { clock, runs, fail } = open()
    fail('a')
    await clock.advance(5_000)
    fail('a')
    fail('b')
    await clock.advance(10_000)
    expect(runs).toEqual(['a 5000', 'b 10000', 'a 15000'])
    for (let failures = 0; failures < 20; failures++) fail('a')
    await clock.advance(3_600_000)
    expect(runs.at(-1)).toBe('a 3615000')
  })

  it('has a delay of two seconds after each failure of the store', async () => {
    const { clock, runs, fail } = open()
    fail('a', new StoreUnwritable('away'))
    await clock.advance(2_000)
    fail('a', new Problem('unavailable', 'away', { cause: new StoreUnwritable('away') }))
    await clock.advance(2_000)
    expect(runs).toEqual(['a 2000', 'a 4000'])
  })

  it('replaces the earlier one of its key', async () => {
    const { clock, runs, fail } = open()
    fail('a')
    fail('a')
    await clock.advance(60_000)
    expect(runs).toEqual(['a 10000'])
  })

  it('is cancelled by a success of its key, which also resets the delay', async () => {
    const { clock, retries, runs, fail } = open()
    fail('a')
    retries.done('a')
    await clock.advance(60_000)
    expect(runs).toEqual([])
    fail('a')
    await clock.advance(5_000)
    expect(runs).toEqual(['a 65000'])
  })

  it('neither runs nor is scheduled after the stop', async () => {
    const { clock, retries, fail } = open()
    fail('a')
    retries.stop()
    fail('a')
    expect(clock.pending).toBe(0)
  })
})
