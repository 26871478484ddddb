import { expect, it } from 'vitest'
import { ChunkList } from '../../../../src/gateway/connection/chunk-list.ts'

it.each([
  [1, 100_000],
  [3, 100_000],
  [700, 3_000],
  [65_536, 5],
])('ChunkList stores chunks of %d bytes with a bounded number of buffers', (length, count) => {
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

it('ChunkList joins no chunk to an empty buffer, and one chunk to itself', () => {
  const chunks = new ChunkList()
  expect(chunks.join()).toHaveLength(0)
  const only = Buffer.from('only')
  chunks.add(only)
  expect(chunks.join()).toBe(only)
})
