/** Segments that were copied within the spool. */

import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { refuseSpoolCopies } from '../../../src/recovery/spool-copies.ts'
import { createRandom } from '../../random.ts'
import { createSpoolCopies, pathOf, segmentsOf, startProcess } from '../../fixtures/spool-copy.ts'

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
  expect(() => refuseSpoolCopies(folder)).not.toThrow()
})

it.each([
  ['the same source', SOURCE],
  ['another source', 'gateway-9'],
])('a copy of a segment in %s is refused, and the error names both files', async (_name, source) => {
  const { folder, segments } = await spool()
  mkdirSync(join(folder, source), { recursive: true })
  const [from, to] = [pathOf(folder, SOURCE, segments[1]!), pathOf(folder, source, segments.at(-1)! + 1)]
  copyFileSync(from, to)
  const process = startProcess(folder, [])
  const { ids } = process.read({})
  process.kill()
  expect(new Set(ids).size).toBeLessThan(ids.length)
  expect(() => refuseSpoolCopies(folder)).toThrow(`${to} and ${from} are copies of the same segment`)
})

it('a copy of a source under another name is refused', async () => {
  const { folder } = await spool()
  cpSync(join(folder, SOURCE), join(folder, `${SOURCE}.bak`), { recursive: true })
  expect(() => refuseSpoolCopies(folder)).toThrow(`${SOURCE}.bak was not created by this service`)
})

it('a segment with the highest possible number is refused', async () => {
  const { folder } = await spool()
  writeFileSync(join(folder, SOURCE, '999999999999999.spool'), '')
  expect(() => refuseSpoolCopies(folder)).toThrow('999999999999999.spool has the highest possible segment number')
})
