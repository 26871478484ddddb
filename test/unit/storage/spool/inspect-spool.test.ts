import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../../random.ts'
import {
  createSpoolCopies,
  pathOf,
  segmentsOf,
  sizeOf,
  START_MS,
  startProcess,
  type Written,
} from '../../../fixtures/spool-copy.ts'

const MAIN = join(import.meta.dirname, '../../../../src/interfaces/cli/main.ts')
const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

/** A data folder with a spool of two sources; the first has several segments. */
async function dataFolder() {
  const folder = copies.newFolder()
  const spool = join(folder, 'spool')
  mkdirSync(spool)
  const written: Written[] = []
  const process = startProcess(spool, written)
  const random = createRandom(5)
  await process.write('gateway-0', random, 40)
  await process.write('platform', random, 5)
  return { folder, spool, written, process }
}

function inspect(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'spool', 'inspect', ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const contentOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(
      (entry) => `${join(entry.parentPath, entry.name)} ${readFileSync(join(entry.parentPath, entry.name), 'base64')}`,
    )

describe('tollgate spool inspect', () => {
  it('reports an intact spool of a running writer as intact, and changes nothing', async () => {
    const { folder, spool, written, process } = await dataFolder()
    const before = contentOf(folder)
    const { status, stdout } = inspect(folder)
    const segments = segmentsOf(spool, 'gateway-0').length + 1

    expect({ status, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
      status: 0,
      last: `${segments} segments, intact`,
    })
    expect(contentOf(folder)).toEqual(before)
    const counts = [...stdout.matchAll(/ (\d+) records/g)].map(([, count]) => Number(count))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(written.length)
    expect(inspect(spool).stdout).toBe(stdout)
    process.kill()
  })

  it('prints one segment with its numbers and times, and each batch if asked', async () => {
    const { spool, written, process } = await dataFolder()
    process.kill()
    const [first, second] = segmentsOf(spool, 'gateway-0')
    const inFirst = written.filter(({ segment, source }) => segment === first && source === 'gateway-0')
    const inSecond = written.filter(({ segment, source }) => segment === second && source === 'gateway-0')
    const timeOf = ({ id }: { id: number } = { id: 0 }) => new Date(START_MS + id).toISOString()
    const { status, stdout } = inspect('--batches', pathOf(spool, 'gateway-0', second!))

    expect(status).toBe(0)
    expect(stdout).toContain(`continues ${first}`)
    expect(stdout).toMatch(new RegExp(`records \\(${inFirst.length} to \\d+\\)`))
    expect(stdout).toContain(`${timeOf(inSecond[0])} to ${timeOf(inSecond.at(-1))}`)
    expect(stdout).toMatch(/^ {4}at 64: \d+ records/m)
  })

  it('exits with 1 and prints the place and number of missing records if a batch is damaged', async () => {
    const { folder, spool, process } = await dataFolder()
    process.kill()
    const path = pathOf(spool, 'gateway-0', segmentsOf(spool, 'gateway-0')[0]!)
    const bytes = readFileSync(path)
    bytes[100]! ^= 1
    writeFileSync(path, bytes)
    const { status, stdout } = inspect(folder)

    expect({ status, damage: /DAMAGED: (.*)/.exec(stdout)?.[1] }).toEqual({
      status: 1,
      damage: expect.stringMatching(/^bytes 64 to \d+ do not verify: \d+ records are missing \(0 to \d+\)$/),
    })
  })

  it('detects a missing segment, an empty segment and an incomplete last batch', async () => {
    const { folder, spool, process } = await dataFolder()
    process.kill()
    const segments = segmentsOf(spool, 'gateway-0')
    expect(segments.length).toBeGreaterThan(3)
    rmSync(pathOf(spool, 'gateway-0', segments[1]!))
    expect(inspect(folder)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/before it: \d+ records are missing/),
    })
    truncateSync(pathOf(spool, 'gateway-0', segments[2]!), 0)
    expect(inspect(folder).stdout).toContain('DAMAGED: the header is incomplete')

    const last = pathOf(spool, 'platform', segmentsOf(spool, 'platform')[0]!)
    truncateSync(last, sizeOf(last) - 8)
    expect(inspect(last)).toMatchObject({ status: 0, stdout: expect.stringContaining('an incomplete last batch') })
  })

  it('refuses a folder that is not a spool, with exit code 2', async () => {
    const folder = copies.newFolder()
    expect(inspect(folder)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is neither a tollgate data folder'),
    })
    expect(inspect(join(folder, 'nowhere'))).toMatchObject({ status: 2 })
    expect(inspect()).toMatchObject({ status: 2, stderr: expect.stringContaining('takes exactly one DIR') })
    expect(inspect(folder, '--wrong')).toMatchObject({ status: 2 })
  })

  it('reads the segments that the service kept', async () => {
    const { spool, process } = await dataFolder()
    process.kill()
    const segment = segmentsOf(spool, 'gateway-0')[0]!
    const kept = join(spool, 'damaged', `gateway-0-${String(segment).padStart(10, '0')}.spool`)
    mkdirSync(join(spool, 'damaged'))
    renameSync(pathOf(spool, 'gateway-0', segment), kept)

    expect(inspect(kept)).toMatchObject({ status: 0, stdout: expect.stringContaining('1 segments, intact') })
  })
})
