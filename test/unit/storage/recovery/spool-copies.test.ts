/** Segments that were copied or moved within the spool, or brought from elsewhere. */

import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { adoptSegments, refuseSpoolCopies } from '../../../../src/storage/recovery/spool-copies.ts'
import { createRandom } from '../../../random.ts'
import { createSpoolCopies, pathOf, segmentsOf, startProcess } from '../../../fixtures/spool-copy.ts'

const SOURCE = 'gateway-0'
const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

async function spool() {
  const folder = copies.newFolder()
  const process = startProcess(folder, [])
  await process.write(SOURCE, createRandom(1), 30)
  await process.write('platform', createRandom(2), 5)
  process.kill()
  return { folder, segments: segmentsOf(folder, SOURCE) }
}

it('an intact spool is accepted, also with released, empty or damaged segments', async () => {
  const { folder, segments } = await spool()
  const process = startProcess(folder, [])
  process.reader.release(process.read({}).position)
  process.kill()
  mkdirSync(join(folder, 'gateway-1'))
  mkdirSync(join(folder, 'lost+found'))
  for (const name of ['gateway-1', 'gateway-2']) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(pathOf(folder, name, 1), '')
    writeFileSync(pathOf(folder, name, 2), 'x'.repeat(100))
    mkdirSync(pathOf(folder, name, 3))
    spawnSync('mkfifo', [pathOf(folder, name, 5)])
    copyFileSync(pathOf(folder, SOURCE, segments.at(-1)!), pathOf(folder, name, 4))
  }
  expect(() => refuseSpoolCopies(folder, [])).not.toThrow()
})

it.each([
  ['the same source', SOURCE],
  ['another source', 'gateway-9'],
])('a copy of a segment in %s is refused, and the error names both files', async (_name, source) => {
  const { folder, segments } = await spool()
  mkdirSync(join(folder, source), { recursive: true })
  const [from, to] = [pathOf(folder, SOURCE, segments[1]!), pathOf(folder, source, segments.at(-1)! + 1)]
  copyFileSync(from, to)
  expect(() => refuseSpoolCopies(folder, [])).toThrow(`${to} and ${from} are copies of the same segment`)
})

it('a copy is recognised by its first batch if its header is damaged', async () => {
  const { folder, segments } = await spool()
  const [from, to] = [pathOf(folder, SOURCE, segments[1]!), pathOf(folder, SOURCE, segments.at(-1)! + 1)]
  const bytes = readFileSync(from)
  bytes[20]! ^= 1
  writeFileSync(to, bytes)
  expect(() => refuseSpoolCopies(folder, [])).toThrow(`${to} and ${from} are copies of the same segment`)
})

it.each([
  ['has another number', (folder: string, segment: number) => pathOf(folder, SOURCE, segment + 1_000)],
  ['is in the folder of another thread', (folder: string, segment: number) => pathOf(folder, 'gateway-1', segment)],
])('a segment that %s is refused', async (_, placeOf) => {
  const { folder, segments } = await spool()
  mkdirSync(join(folder, 'gateway-1'))
  const to = placeOf(folder, segments[1]!)
  renameSync(pathOf(folder, SOURCE, segments[1]!), to)
  expect(() => refuseSpoolCopies(folder, [])).toThrow(`${to} was renamed or moved`)
})

it('the folder of a thread that was renamed is refused', async () => {
  const { folder } = await spool()
  renameSync(join(folder, SOURCE), join(folder, 'gateway-7'))
  expect(() => refuseSpoolCopies(folder, [])).toThrow(/gateway-7.* was renamed or moved/)
})

it('folders of two threads that were swapped are refused', async () => {
  const { folder } = await spool()
  renameSync(join(folder, SOURCE), join(folder, 'other'))
  renameSync(join(folder, 'platform'), join(folder, SOURCE))
  renameSync(join(folder, 'other'), join(folder, 'platform'))
  expect(() => refuseSpoolCopies(folder, [])).toThrow(/gateway-0.* was renamed or moved/)
})

it('a segment of another data folder is refused, unless it was adopted', async () => {
  const folder = copies.newFolder()
  const process = startProcess(folder, [], {}, 2_500, 'instance-a')
  await process.write(SOURCE, createRandom(1), 30)
  const { ids } = process.read({})
  process.kill()
  expect(() => refuseSpoolCopies(folder, ['instance-a', 'instance-c'])).not.toThrow()
  expect(() => refuseSpoolCopies(folder, ['instance-b'])).toThrow('was written in another data folder')
  adoptSegments(folder, 'instance-c', 'instance-b')
  expect(() => refuseSpoolCopies(folder, ['instance-b'])).toThrow('was written in another data folder')
  adoptSegments(folder, 'instance-a', 'instance-b')
  expect(() => refuseSpoolCopies(folder, ['instance-b'])).not.toThrow()
  const reader = startProcess(folder, [])
  expect(reader.read({}).ids).toEqual(ids)
  reader.kill()
})

it('a copy of a source under another name is refused', async () => {
  const { folder } = await spool()
  cpSync(join(folder, SOURCE), join(folder, `${SOURCE}.bak`), { recursive: true })
  expect(() => refuseSpoolCopies(folder, [])).toThrow(`${SOURCE}.bak was not created by this service`)
})

it('a segment with the highest possible number is refused', async () => {
  const { folder } = await spool()
  writeFileSync(join(folder, SOURCE, '999999999999999.spool'), '')
  expect(() => refuseSpoolCopies(folder, [])).toThrow('999999999999999.spool has the highest possible segment number')
})
