import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { SendQueue } from '../../../../../src/gateway/connection/http2/send-queue.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function queueOf(...chunks: readonly string[]): SendQueue {
  const queue = new SendQueue()
  for (const chunk of chunks) queue.add(Buffer.from(chunk))
  return queue
}

describe('SendQueue', () => {
  it('divides a large chunk', () => {
    const queue = queueOf('abcdefgh')
    expect([queue.take(3), queue.take(3), queue.take(3)].map(String)).toEqual(['abc', 'def', 'gh'])
    expect(queue.bytes).toBe(0)
  })

  it('joins small chunks, as far as there is room', () => {
    const queue = queueOf('ab', '', 'cd', 'efg')
    expect(queue.bytes).toBe(7)
    expect(String(queue.take(5))).toBe('abcde')
    expect(String(queue.take(5))).toBe('fg')
  })

  it('goes on after it was empty, and drops what is left', () => {
    const queue = queueOf('a')
    queue.take(1)
    queue.add(Buffer.from('bc'))
    expect(String(queue.take(1))).toBe('b')
    queue.drop()
    expect(queue.bytes).toBe(0)
    queue.add(Buffer.from('d'))
    expect(String(queue.take(9))).toBe('d')
  })

  it('keeps nothing that was taken, although it is never empty', async () => {
    const queue = queueOf('a')
    const refs: WeakRef<Buffer>[] = []
    for (let round = 0; round < 200; round++) {
      const chunk = Buffer.alloc(100)
      refs.push(new WeakRef(chunk))
      queue.add(chunk)
      queue.take(100)
    }
    expect(queue.bytes).toBe(1)
    // References are kept until the end of a turn.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(200 / 2)
  })
})
