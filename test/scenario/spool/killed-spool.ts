/** Spools of killed processes, and changes of their files, for tests of damage. */

import { readFileSync, writeFileSync } from 'node:fs'
import { createRandom } from '../../random.ts'
import { pathOf, segmentsOf, startProcess, type createSpoolCopies, type Written } from '../../fixtures/spool-copy.ts'

export const SOURCE = 'gateway-0'

/** A source of several segments, written by a killed process; none of its records is billed. */
export async function killedSpool(
  copies: ReturnType<typeof createSpoolCopies>,
  options: { turns?: number; segmentBytesMax?: number; seed?: number } = {},
) {
  const { turns = 30, segmentBytesMax = 2_000, seed = 1 } = options
  const folder = copies.newFolder()
  const written: Written[] = []
  const process = startProcess(folder, written, {}, segmentBytesMax)
  await process.write(SOURCE, createRandom(seed), turns)
  const { position } = process.read({})
  process.kill()
  const segments = segmentsOf(folder, SOURCE)
  const idsIn = (segment: number) => written.filter((each) => each.segment === segment).map(({ id }) => id)
  const path = (index: number) => pathOf(folder, SOURCE, segments.at(index)!)
  return { folder, written, segments, idsIn, path, position, ids: written.map(({ id }) => id) }
}

/** Offsets of the batches of an intact segment. */
export function batchesOf(path: string): { at: number; bytes: number; records: number; definitionBytes: number }[] {
  const file = readFileSync(path)
  const batches = []
  for (let at = 64; at < file.length; at += file.readUInt32LE(at + 4)) {
    const [bytes, records] = [file.readUInt32LE(at + 4), file.readUInt32LE(at + 12)]
    if (records > 0) batches.push({ at, bytes, records, definitionBytes: file.readUInt32LE(at + 16) })
  }
  return batches
}

export function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at]! ^= 4
  writeFileSync(path, bytes)
}

export const consumersOf = (written: readonly Written[], ids: readonly number[]) => {
  const byId = new Map(written.map(({ id, consumer }) => [id, consumer]))
  return ids.map((id) => byId.get(id))
}
