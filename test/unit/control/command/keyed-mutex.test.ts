import { describe, expect, it } from 'vitest'
import { createKeyedMutex } from '../../../../src/control/command/keyed-mutex.ts'

describe('KeyedMutex', () => {
  it('runs tasks with a common key one at a time, in arrival order, and releases the key if a task rejects', async () => {
    const mutex = createKeyedMutex()
    const ran: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = mutex.runExclusive(['a'], async () => {
      await gate.promise
      ran.push('first')
      throw new Error('it failed')
    })
    const second = mutex.runExclusive(['a', 'b'], async () => void ran.push('second'))
    const third = mutex.runExclusive(['b'], async () => void ran.push('third'))
    await mutex.runExclusive(['c'], async () => void ran.push('elsewhere'))
    gate.resolve()

    await expect(first).rejects.toThrow('it failed')
    await Promise.all([second, third])
    expect(ran).toEqual(['elsewhere', 'first', 'second', 'third'])
  })

  it('does not deadlock if two tasks name the same keys in different order', async () => {
    const mutex = createKeyedMutex()
    const done = await Promise.all([
      mutex.runExclusive(['a', 'b'], async () => 1),
      mutex.runExclusive(['b', 'a'], async () => 2),
      mutex.runExclusive(['a', 'b'], async () => 3),
    ])
    expect(done).toEqual([1, 2, 3])
  })
})
