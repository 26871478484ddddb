import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { coalesce } from '../../../src/pipeline/coalesce.ts'
import { createRandom } from '../../random.ts'
import { createHandClock } from './hand-clock.ts'

const SEED = Date.now() % 1_000_000

function open(gapMs = 20) {
  const clock = createHandClock(0)
  const source = new Subject<void>()
  const heardMs: number[] = []
  let end = ''
  const subscription = source.pipe(coalesce(gapMs, clock)).subscribe({
    next: () => heardMs.push(clock.nowMs()),
    error: (cause) => (end = String(cause)),
    complete: () => (end = 'complete'),
  })
  return { clock, source, heardMs, subscription, end: () => end }
}

describe('coalesce', () => {
  it('lets the first word through at once, and the rest of a burst as one when the gap is over', async () => {
    const { clock, source, heardMs } = open()
    for (let word = 0; word < 100; word++) source.next()
    expect(heardMs).toEqual([0])
    await clock.advance(19)
    expect(heardMs).toEqual([0])
    await clock.advance(1)
    expect(heardMs).toEqual([0, 20])
    await clock.advance(1_000)
    expect(heardMs).toEqual([0, 20])
  })

  it('hears a word without delay where none came before it for the gap', async () => {
    const { clock, source, heardMs } = open()
    for (let word = 0; word < 3; word++) {
      source.next()
      await clock.advance(20)
    }
    expect(heardMs).toEqual([0, 20, 40])
  })

  it(`leaves no word unheard for longer than the gap, and is never heard more often (seed ${SEED})`, async () => {
    const random = createRandom(SEED)
    const { clock, source, heardMs } = open()
    for (let word = 0; word < 500; word++) {
      await clock.advance(random.below(random.below(2) === 0 ? 5 : 60))
      const saidMs = clock.nowMs()
      source.next()
      const isHeardNow = heardMs.at(-1) === saidMs
      if (!isHeardNow && random.below(5) === 0) {
        await clock.advance(20)
        expect(heardMs.some((ms) => ms >= saidMs && ms <= saidMs + 20)).toBe(true)
      }
    }
    await clock.advance(20)
    for (let index = 1; index < heardMs.length; index++)
      expect(heardMs[index]! - heardMs[index - 1]!).toBeGreaterThanOrEqual(20)
  })

  it('passes on the end and the failure of its source, and is silent after it was left', async () => {
    const ended = open()
    ended.source.complete()
    expect(ended.end()).toBe('complete')

    const failed = open()
    failed.source.error('broken')
    expect(failed.end()).toBe('broken')

    const left = open()
    left.source.next()
    left.source.next()
    left.subscription.unsubscribe()
    await left.clock.advance(100)
    expect(left.heardMs).toEqual([0])
  })
})
