import { describe, expect, it } from 'vitest'
import { createTurns } from '../../../src/command/keyed-mutex.ts'

describe('turns', () => {
  it('lets one command on a thing go after the other, in order, also where one fails', async () => {
    const turns = createTurns()
    const heard: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = turns.take(['a'], async () => {
      await gate.promise
      heard.push('first')
      throw new Error('it failed')
    })
    const second = turns.take(['a', 'b'], async () => void heard.push('second'))
    const third = turns.take(['b'], async () => void heard.push('third'))
    await turns.take(['c'], async () => void heard.push('elsewhere'))
    gate.resolve()

    await expect(first).rejects.toThrow('it failed')
    await Promise.all([second, third])
    expect(heard).toEqual(['elsewhere', 'first', 'second', 'third'])
  })

  it('never has two wait for each other, whatever the order of their things', async () => {
    const turns = createTurns()
    const done = await Promise.all([
      turns.take(['a', 'b'], async () => 1),
      turns.take(['b', 'a'], async () => 2),
      turns.take(['a', 'b'], async () => 3),
    ])
    expect(done).toEqual([1, 2, 3])
  })
})
