import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { coalesce } from '../../../src/stream/coalesce.ts'
import { readWhileMore } from '../../../src/stream/read-while-more.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'

describe('coalesce', () => {
  it('lets a first word through at once and what follows as one, a gap later', async () => {
    const clock = createFakeClock(0)
    const words$ = new Subject<void>()
    const heardMs: number[] = []
    words$.pipe(coalesce(20, clock)).subscribe(() => heardMs.push(clock.nowMs()))
    words$.next()
    await clock.advance(5)
    for (let word = 0; word < 10; word++) words$.next()
    await clock.advance(100)
    words$.next()

    expect(heardMs).toEqual([0, 20, 105])
  })

  it('says nothing more when nobody listens', async () => {
    const clock = createFakeClock(0)
    const words$ = new Subject<void>()
    let heard = 0
    const listening = words$.pipe(coalesce(20, clock)).subscribe(() => heard++)
    words$.next()
    words$.next()
    listening.unsubscribe()
    await clock.advance(100)

    expect(heard).toBe(1)
  })
})

describe('reading on', () => {
  /** Stretches that say each whether there is more. */
  function read(stretches: (boolean | Error)[]) {
    const clock = createFakeClock(0)
    const words$ = new Subject<void>()
    const seen = { reads: 0, errors: 0 }
    const listening = words$
      .pipe(
        readWhileMore(() => {
          seen.reads++
          const next = stretches.shift() ?? false
          if (next instanceof Error) throw next
          return next
        }, clock),
      )
      .subscribe({ error: () => seen.errors++ })
    return { clock, words$, seen, listening }
  }

  it('goes on by itself while there is more, and gives others their turn between stretches', async () => {
    const { clock, words$, seen } = read([true, true, false])
    words$.next()
    expect(seen.reads).toBe(1)
    await clock.advance(10)

    expect(seen.reads).toBe(3)
  })

  it('takes a word that comes meanwhile as part of the reading', async () => {
    const { clock, words$, seen } = read([true, false])
    words$.next()
    words$.next()
    await clock.advance(10)

    expect(seen.reads).toBe(2)
  })

  it('ends with what breaks a stretch, also one that nobody asked for', async () => {
    const { clock, words$, seen } = read([true, new Error('disk')])
    words$.next()
    await clock.advance(10)
    words$.next()

    expect(seen).toEqual({ reads: 2, errors: 1 })
  })

  it('reads no more when nobody listens', async () => {
    const { clock, words$, seen, listening } = read([true, true, true])
    words$.next()
    listening.unsubscribe()
    await clock.advance(10)

    expect(seen.reads).toBe(1)
  })
})
