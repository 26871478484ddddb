/** Random damage to the files of a spool: records that are read are correct, missing ones are reported, and both are repeatable. */

import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { SpoolPosition } from '../../../src/storage/store/checkpoint.ts'
import { createRandom, type Random } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'
import { createSpoolCopies, pathOf, segmentsOf, sizeOf, startProcess, type Written } from '../../fixtures/spool-copy.ts'

const SEED = readSeed(1)
const SPOOLS = Number(process.env['SPOOLS'] ?? 6)
const CASES = 40
const SOURCES = ['gateway-0', 'gateway-1']

const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

/** Several killed processes; the last one leaves records that are not billed. */
async function anySpool(random: Random) {
  const folder = copies.newFolder()
  const written: Written[] = []
  let billed: SpoolPosition = {}
  const billedIds: number[] = []
  for (let life = 0; life < 1 + random.below(3); life++) {
    const process = startProcess(folder, written, billed)
    for (const source of SOURCES) await process.write(source, random, random.below(14))
    const { ids, position } = process.read(billed, { bytesMax: 600, steps: random.below(12) })
    billedIds.push(...ids)
    billed = position
    if (random.below(2) === 0) process.reader.release(billed)
    for (const source of SOURCES) await process.write(source, random, random.below(20))
    process.kill()
  }
  return { folder, written, billed, billedIds: new Set(billedIds) }
}

type Spool = Awaited<ReturnType<typeof anySpool>>

/** Damages one file and returns a description. */
function damage(random: Random, folder: string): string {
  const source = SOURCES[random.below(SOURCES.length)]!
  const segments = segmentsOf(folder, source)
  if (segments.length === 0) return 'nothing'
  const segment = segments[random.below(segments.length)]!
  const path = pathOf(folder, source, segment)
  const size = sizeOf(path)
  const at = random.below(Math.max(1, size))
  const name = `${source} ${segment} of ${segments.length} (${size} bytes)`
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2: {
      const bytes = readFileSync(path)
      if (bytes.length > 0) bytes[at]! ^= 1 << random.below(8)
      writeFileSync(path, bytes)
      return `bit at ${at} of ${name}`
    }
    case 3: {
      const bytes = readFileSync(path)
      const length = random.below(400)
      const isZero = random.below(2) === 0
      for (let index = at; index < Math.min(size, at + length); index++) bytes[index] = isZero ? 0 : random.below(256)
      writeFileSync(path, bytes)
      return `${length} bytes of ${isZero ? 'zeros' : 'garbage'} at ${at} of ${name}`
    }
    case 4:
      truncateSync(path, at)
      return `cut at ${at} of ${name}`
    case 5:
      appendFileSync(path, Buffer.from(Array.from({ length: random.below(100) }, () => random.below(256))))
      return `garbage behind ${name}`
    case 6:
      rmSync(path)
      return `removed ${name}`
    default: {
      const bytes = readFileSync(path)
      const length = random.below(300)
      writeFileSync(path, Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(size, at + length))]))
      return `${length} bytes cut out at ${at} of ${name}`
    }
  }
}

/**
 * The first segment of each source whose end may be missing without a trace, because the process may have been killed before it
 * wrote more. It is the last segment, or the one before if nothing remains of the last.
 */
function firstUntraceable(folder: string, before: ReadonlyMap<string, readonly number[]>): ReadonlyMap<string, number> {
  return new Map(
    SOURCES.map((source) => {
      const after = new Set(segmentsOf(folder, source))
      return [source, before.get(source)!.findLast((segment) => after.has(segment)) ?? 0]
    }),
  )
}

async function check(random: Random, spool: Spool, label: string): Promise<string> {
  const { written, billed, billedIds } = spool
  const folder = copies.copyOf(spool.folder)
  const segments = new Map(SOURCES.map((source) => [source, segmentsOf(folder, source)]))
  const done = Array.from({ length: 1 + random.below(3) }, () => damage(random, folder))
  const untraceable = firstUntraceable(folder, segments)
  const text = `${label}: ${done.join('; ')}`

  const more: Written[] = []
  const process = startProcess(folder, more, billed)
  const isEarly = random.below(2) === 0
  const early = isEarly ? process.read(billed, { bytesMax: 500 }) : { ids: [], consumers: [], position: billed }
  for (const source of SOURCES) await process.write(source, random, random.below(8))
  const late = process.read(early.position, { bytesMax: 1 + random.below(4_000) })
  const ids = [...early.ids, ...late.ids]
  const consumers = [...early.consumers, ...late.consumers]

  const consumerOf = new Map([...written, ...more].map(({ id, consumer }) => [id, consumer]))
  expect(consumers, text).toEqual(ids.map((id) => consumerOf.get(id)))
  expect(new Set(ids).size, text).toBe(ids.length)
  expect(
    ids.filter((id) => billedIds.has(id)),
    text,
  ).toEqual([])

  const read = new Set(ids)
  const isMissing = (id: number): boolean => !read.has(id) && !billedIds.has(id)
  expect(
    more.filter(({ id }) => isMissing(id)),
    text,
  ).toEqual([])
  const missing = written.filter(({ id }) => isMissing(id)).length
  const traceless = written.filter(
    ({ id, source, segment }) => segment >= untraceable.get(source)! && isMissing(id),
  ).length
  const reported = process.damages.reduce((sum, { records }) => sum + records, 0)
  const isExact = process.damages.every((each) => each.isExact)
  const summary = `${text}; ${missing} missing, ${traceless} at ends, reported ${JSON.stringify(process.damages)}`
  expect(reported, summary).toBeLessThanOrEqual(missing)
  if (isExact) expect(reported, summary).toBeGreaterThanOrEqual(missing - traceless)

  // Another consumer reads the same records, and nothing is reported twice.
  const reports = process.damages.length
  const again = process.read(billed, { bytesMax: 1 + random.below(4_000) })
  expect(again.ids.toSorted(), summary).toEqual(ids.toSorted())
  const range = process.read(billed, { until: late.position, bytesMax: 1 + random.below(4_000) })
  expect(range.ids.toSorted(), summary).toEqual(ids.toSorted())
  expect(range.position, summary).toEqual(late.position)
  expect(process.damages.slice(reports), summary).toEqual([])
  process.kill()

  const next = startProcess(folder, [], billed)
  const replay = next.read(billed, { until: late.position, bytesMax: 1 + random.below(4_000) })
  expect(replay.ids.toSorted(), summary).toEqual(ids.toSorted())
  expect(next.read(late.position).ids, summary).toEqual([])
  next.kill()
  copies.remove(folder)
  return missing === 0 ? 'none' : reported === 0 && isExact ? 'traceless' : isExact ? 'exact' : 'at least'
}

describe(`a damaged spool (seed ${SEED})`, () => {
  it(
    'never attributes a record to another consumer, reports every lost record, and reads the same records each time',
    { timeout: 120_000 },
    async () => {
      const outcomes = new Map<string, number>()
      for (let number = 0; number < SPOOLS; number++) {
        const random = createRandom(SEED + number)
        const spool = await anySpool(random)
        for (let round = 0; round < CASES; round++) {
          const outcome = await check(random, spool, `seed ${SEED}, spool ${number}, case ${round}`)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
        copies.remove(spool.folder)
      }
      // Rounds without damage would prove nothing.
      expect(outcomes.get('exact') ?? 0).toBeGreaterThan(50)
      expect(outcomes.get('at least') ?? 0).toBeGreaterThan(20)
    },
  )
})
