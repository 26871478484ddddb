import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { readOn } from '../../../src/pipeline/read-on.ts'
import { createHandClock } from './hand-clock.ts'

function open(read: () => boolean) {
  const clock = createHandClock(0)
  const source = new Subject<void>()
  const heard: string[] = []
  const subscription = source.pipe(readOn(read, clock)).subscribe({
    next: () => heard.push('stretch'),
    error: (cause: Error) => heard.push(cause.message),
    complete: () => heard.push('complete'),
  })
  return { clock, source, heard, subscription }
}

describe('reading on', () => {
  it('reads at each word, and goes on by itself while there is more, giving way in between', async () => {
    let left = 3
    const { clock, source, heard } = open(() => --left > 0)
    source.next()
    expect(heard).toHaveLength(1)
    await clock.advance(0)
    expect(heard).toHaveLength(3)
    await clock.advance(1_000)
    expect(heard).toHaveLength(3)
    source.next()
    expect(heard).toHaveLength(4)
  })

  it('takes a word that comes while it goes on for a part of that', () => {
    let reads = 0
    const { source } = open(() => ++reads < 100)
    for (let word = 0; word < 10; word++) source.next()
    expect(reads).toBe(1)
  })

  it('fails with what fails while reading, also when it goes on by itself', async () => {
    const { source, heard } = open(() => {
      throw new Error('the disk')
    })
    source.next()
    expect(heard).toEqual(['the disk'])

    let reads = 0
    const later = open(() => {
      if (++reads > 1) throw new Error('later')
      return true
    })
    later.source.next()
    await later.clock.advance(0)
    expect(later.heard).toEqual(['stretch', 'later'])
  })

  it('reads nothing more after it was left', async () => {
    let reads = 0
    const { clock, source, subscription } = open(() => ++reads > 0)
    source.next()
    subscription.unsubscribe()
    await clock.advance(1_000)
    expect(reads).toBe(1)
  })
})
