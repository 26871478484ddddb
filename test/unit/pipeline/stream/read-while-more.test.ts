import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { coalesce } from '../../../../src/pipeline/stream/coalesce.ts'
import { readWhileMore } from '../../../../src/pipeline/stream/read-while-more.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

describe('coalesce', () => {
  it('emits the first signal immediately and the following ones as one after the gap', async () => {
    const clock = createFakeClock(0)
    const signals$ = new Subject<void>()
    const emittedMs: number[] = []
    signals$.pipe(coalesce(20, clock)).subscribe(() => emittedMs.push(clock.nowMs()))
    signals$.next()
    await clock.advance(5)
    for (let signal = 0; signal < 10; signal++) signals$.next()
    await clock.advance(100)
    signals$.next()

    expect(emittedMs).toEqual([0, 20, 105])
  })

  it('emits nothing after it is unsubscribed', async () => {
    const clock = createFakeClock(0)
    const signals$ = new Subject<void>()
    let emissions = 0
    const subscription = signals$.pipe(coalesce(20, clock)).subscribe(() => emissions++)
    signals$.next()
    signals$.next()
    subscription.unsubscribe()
    await clock.advance(100)

    expect(emissions).toBe(1)
  })
})

describe('readWhileMore', () => {
  /** Each element is the result of one stretch: whether there is more to read, or its error. */
  function read(stretches: (boolean | Error)[]) {
    const clock = createFakeClock(0)
    const signals$ = new Subject<void>()
    const seen = { reads: 0, errors: 0 }
    const subscription = signals$
      .pipe(
        readWhileMore(() => {
          seen.reads++
          const next = stretches.shift() ?? false
          if (next instanceof Error) throw next
          return next
        }, clock),
      )
      .subscribe({ error: () => seen.errors++ })
    return { clock, signals$, seen, subscription }
  }

  it('continues without a signal while there is more, and yields to the event loop between stretches', async () => {
    const { clock, signals$, seen } = read([true, true, false])
    signals$.next()
    expect(seen.reads).toBe(1)
    await clock.advance(10)

    expect(seen.reads).toBe(3)
  })

  it('ignores a signal that arrives while it continues', async () => {
    const { clock, signals$, seen } = read([true, false])
    signals$.next()
    signals$.next()
    await clock.advance(10)

    expect(seen.reads).toBe(2)
  })

  it('fails with the error of any stretch, also without a signal', async () => {
    const { clock, signals$, seen } = read([true, new Error('disk')])
    signals$.next()
    await clock.advance(10)
    signals$.next()

    expect(seen).toEqual({ reads: 2, errors: 1 })
  })

  it('reads nothing after it is unsubscribed', async () => {
    const { clock, signals$, seen, subscription } = read([true, true, true])
    signals$.next()
    subscription.unsubscribe()
    await clock.advance(10)

    expect(seen.reads).toBe(1)
  })
})
