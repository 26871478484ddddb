/** Spools that a version with format 1 wrote. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../random.ts'
import { createSpoolCopies, pathOf, START_MS, startProcess, type Written } from '../../fixtures/spool-copy.ts'
import { SOURCE } from './killed-spool.ts'

const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

describe('a spool of format 1', () => {
  it('is read; after a damaged batch, only records with a known consumer are read', () => {
    const folder = copies.newFolder()
    mkdirSync(join(folder, SOURCE))
    const definitions = ['a', 'b', 'c', 'd'].map((consumer) => ({ tenant: 't', api: 'x', operation: 'o', consumer }))
    const batches = [
      oldBatch([[0, 1], [0, 2]], definitions.slice(0, 1), 0), // prettier-ignore
      oldBatch([[1, 3], [0, 4]], definitions.slice(1, 2), 1), // prettier-ignore
      oldBatch([[2, 5], [0, 6]], definitions.slice(2, 3), 2), // prettier-ignore
      oldBatch([[1, 7]], [], 3),
      oldBatch([[3, 8], [0, 9]], definitions.slice(3), 3), // prettier-ignore
    ]
    batches[1]![60]! ^= 1
    const header = Buffer.alloc(64)
    header.write('TGSPOOL1', 0, 'latin1')
    header.write('0123456789abcdef', 16, 'latin1')
    writeFileSync(pathOf(folder, SOURCE, 7), Buffer.concat([header, ...batches]))
    const process = startProcess(folder, [])
    const read = process.read({})

    expect(read.ids).toEqual([1, 2, 5, 6, 8, 9])
    expect(read.consumers).toEqual(['a', 'a', 'c', 'a', 'd', 'a'])
    expect(process.damages).toEqual([expect.objectContaining({ records: 3, isExact: false })])
    process.kill()
  })

  it('is intact if its last segment was emptied on release', async () => {
    const folder = copies.newFolder()
    mkdirSync(join(folder, SOURCE))
    writeFileSync(pathOf(folder, SOURCE, 7), '')
    const position = { [SOURCE]: { segment: 7, offset: 4_096 } }
    const process = startProcess(folder, [], position)
    const read = process.read(position)
    process.reader.release(read.position)
    expect(process.damages).toEqual([])
    process.kill()

    const more: Written[] = []
    const next = startProcess(folder, more, position)
    await next.write(SOURCE, createRandom(2), 3)
    expect(next.read(position).ids).toEqual(more.map(({ id }) => id))
    expect(next.damages).toEqual([])
    next.kill()
  })
})

/** Encodes a batch of format 1; each record is the number of its definition and its id. */
function oldBatch(
  records: readonly (readonly [number, number])[],
  definitions: readonly object[],
  first: number,
): Buffer {
  const text = definitions.length === 0 ? '' : JSON.stringify(definitions)
  const tail = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8))
  const bytes = Buffer.concat([Buffer.alloc(24 + records.length * 56), tail])
  bytes.writeUInt32LE(0x42_47_54_01, 0)
  bytes.writeUInt32LE(bytes.length, 4)
  bytes.writeUInt32LE(records.length, 12)
  bytes.writeUInt32LE(tail.length, 16)
  bytes.writeUInt32LE(first, 20)
  for (const [index, [definition, id]] of records.entries()) {
    bytes.writeUInt32LE(definition, 24 + index * 56)
    bytes.writeDoubleLE(START_MS + id, 24 + index * 56 + 8)
    bytes.writeDoubleLE(id, 24 + index * 56 + 16)
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8)
  return bytes
}
