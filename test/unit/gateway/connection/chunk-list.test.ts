import { expect, it } from 'vitest'
import { ChunkList } from '../../../../src/gateway/connection/chunk-list.ts'

it.each([
  [1, 100_000],
  [3, 100_000],
  [700, 3_000],
  [65_536, 5],
])('holds chunks of %d bytes without weighing much more than they do', (length, count) => {
  const chunks = new ChunkList()
  const sent: Buffer[] = []
  for (let index = 0; index < count; index++) {
    const chunk = Buffer.alloc(length, index)
    sent.push(chunk)
    chunks.add(chunk)
    expect(chunks.size).toBeLessThanOrEqual(512 + chunks.bytes / 256)
  }
  expect(chunks.bytes).toBe(length * count)
  expect(chunks.join().equals(Buffer.concat(sent))).toBe(true)
})

it('gives the bytes of no chunk and of one as they are', () => {
  const chunks = new ChunkList()
  expect(chunks.join()).toHaveLength(0)
  const only = Buffer.from('only')
  chunks.add(only)
  expect(chunks.join()).toBe(only)
})
