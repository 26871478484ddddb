import { describe, expect, it } from 'vitest'
import { readAhead } from '../../../../src/foundation/runtime/read-ahead.ts'

async function* numbers(until: number, onRead: (number: number) => void = () => {}): AsyncIterable<number> {
  for (let number = 0; number < until; number++) {
    onRead(number)
    yield number
  }
}

async function* failing(): AsyncIterable<number> {
  yield 1
  throw new Error('the source has failed')
}

async function collect(items: AsyncIterable<number>): Promise<readonly number[]> {
  const all: number[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('A sequence that is read ahead', () => {
  it('yields all items in order', async () => {
    expect(await collect(readAhead(numbers(1_000), 10))).toEqual(Array.from({ length: 1_000 }, (_, number) => number))
    expect(await collect(readAhead(numbers(0), 10))).toEqual([])
  })

  it('is read before anybody asks for an item', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const items = readAhead(
      numbers(3, (number) => number === 2 && resolve()),
      10,
    )
    await promise
    expect(await collect(items)).toEqual([0, 1, 2])
  })

  it('is held up to a number of items', async () => {
    let last = -1
    const items = readAhead(
      numbers(100, (number) => (last = number)),
      10,
    )
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    expect(last).toBe(9)
    expect(await collect(items)).toHaveLength(100)
  })

  it('is held up to this number while it is read, too', async () => {
    let last = -1
    const items = readAhead(
      numbers(100, (number) => (last = number)),
      10,
    )
    for await (const item of items) {
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      expect(last - item).toBeLessThanOrEqual(10)
    }
  })

  it('is not read on once its reader has ended', async () => {
    const { promise: hasEnded, resolve } = Promise.withResolvers<number>()
    async function* counted(): AsyncIterable<number> {
      let number = 0
      try {
        for (;;) yield number++
      } finally {
        resolve(number)
      }
    }
    for await (const item of readAhead(counted(), 10)) if (item === 2) break
    expect(await hasEnded).toBeLessThan(20)
  })

  it('fails after the items before the failure, and not before it is read', async () => {
    const items = readAhead(failing(), 10)
    await new Promise(setImmediate)
    const read: number[] = []
    const reading = (async () => {
      for await (const item of items) read.push(item)
    })()
    await expect(reading).rejects.toThrow('the source has failed')
    expect(read).toEqual([1])
  })

  it('waits for a source that is slower than its reader', async () => {
    const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    async function* slow(): AsyncIterable<number> {
      for (const [number, { promise }] of steps.entries()) {
        await promise
        yield number
      }
    }
    const collected = collect(readAhead(slow(), 10))
    for (const { resolve } of steps) {
      await new Promise(setImmediate)
      resolve()
    }
    expect(await collected).toEqual([0, 1])
  })
})
