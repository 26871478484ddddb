import { describe, expect, it } from 'vitest'
import { createCommitSlots } from '../../../../../src/storage/store/postgres/commit-slots.ts'
import { RegistryUnreachable } from '../../../../../src/storage/store/postgres/connection.ts'
import { createFakeClock, settled } from '../../../../fixtures/fake-clock.ts'

function open() {
  const clock = createFakeClock(0)
  const slots = createCommitSlots({ max: 2, waitMs: 5_000, clock })
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<string>>()
  const run = (name: string): Promise<string> =>
    slots.run(() => {
      const end = Promise.withResolvers<string>()
      begun.push(name)
      ends.set(name, end)
      return end.promise
    })
  return { clock, begun, run, end: (name: string) => ends.get(name)! }
}

describe('The commits of a node', () => {
  it('run a few at once, the others in the order of their arrival', async () => {
    const { clock, begun, run, end } = open()
    const results = Promise.all(['a', 'b', 'c', 'd'].map(run))
    await settled()
    expect(begun).toEqual(['a', 'b'])
    end('b').resolve('b')
    await settled()
    expect(begun).toEqual(['a', 'b', 'c'])
    end('a').resolve('a')
    await settled()
    for (const name of ['c', 'd']) end(name).resolve(name)
    expect(await results).toEqual(['a', 'b', 'c', 'd'])
    expect(clock.pending).toBe(0)
  })

  it('make room for others also if they fail', async () => {
    const { begun, run, end } = open()
    const results = Promise.allSettled(['a', 'b', 'c'].map(run))
    await settled()
    end('a').reject(new Error('lost'))
    await settled()
    expect(begun).toEqual(['a', 'b', 'c'])
    for (const name of ['b', 'c']) end(name).resolve(name)
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  })

  it('are refused if they have waited for too long, and do not run afterwards', async () => {
    const { clock, begun, run, end } = open()
    const running = ['a', 'b'].map(run)
    const late = run('c')
    const refused = expect(late).rejects.toThrow(RegistryUnreachable)
    await clock.advance(5_000)
    await refused
    for (const name of ['a', 'b']) end(name).resolve(name)
    await Promise.all(running)
    expect(begun).toEqual(['a', 'b'])
    const next = run('d')
    await settled()
    end('d').resolve('d')
    expect(await next).toBe('d')
  })
})
