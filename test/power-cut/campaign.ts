/** Recordings, power cuts at random moments of each, and what became of them. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SpoolSync } from '../../src/record/spool-writer.ts'
import { createRandom, type Random } from '../random.ts'
import { createDisk, type FileSystem, type Tree } from './disk.ts'
import { createPromiseReader, noPromises, type Line, type Promises } from './promises.ts'
import { record } from './record.ts'
import type { Recording } from './recording.ts'
import { verify } from './verify.ts'

export interface CampaignOptions {
  readonly seed: number
  readonly cuts: number
  readonly recordings: number
  readonly steps: number
}

export interface Campaign {
  readonly cuts: number
  /** Of all cuts, by what they did. */
  readonly tally: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

const SYNCS: readonly SpoolSync[] = ['always', 'second', 'never']
const FILE_SYSTEMS: readonly FileSystem[] = ['strict', 'ordered']
const SEGMENT_BYTES = [2_000, 16_000, 200_000]
const FAULTS_MAX = 20

/** Each recording but the first of its kind begins with a data folder as an earlier power cut left it. */
export async function runCampaign({ seed, cuts, recordings, steps }: CampaignOptions): Promise<Campaign> {
  const random = createRandom(seed)
  const tally: Record<string, number> = {}
  const faults: string[] = []
  const begins = new Map<SpoolSync, { tree: Tree; promises: Promises }>()
  let done = 0
  for (let number = 0; number < recordings && faults.length < FAULTS_MAX; number++) {
    const sync = SYNCS[number % SYNCS.length]!
    const begin = begins.get(sync) ?? { tree: new Map([['data', null]]), promises: noPromises() }
    const root = createFolder()
    try {
      build(root, begin.tree)
      const recording = await record(root, [
        workload(join(root, 'data'), sync, number * 2, steps, random, random.below(2) === 0),
        workload(join(root, 'data'), sync, number * 2 + 1, steps, random, random.below(2) === 0),
      ])
      const goal = Math.floor((cuts * (number + 1)) / recordings)
      const next = await cutRecording(recording, begin.promises, {
        sync,
        number,
        cuts: goal - done,
        random,
        tally,
        faults,
      })
      done = goal
      if (next === null || random.below(4) === 0) begins.delete(sync)
      else begins.set(sync, next)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }
  return { cuts: done, tally, faults }
}

interface Cuts {
  readonly sync: SpoolSync
  readonly number: number
  readonly cuts: number
  readonly random: Random
  readonly tally: Record<string, number>
  readonly faults: string[]
}

/** Returns one of the states, and what still has to hold in it. */
async function cutRecording(recording: Recording, begin: Promises, options: Cuts) {
  const { sync, number, cuts, random, tally, faults } = options
  const disk = createDisk(recording)
  const promises = structuredClone(begin)
  const read = createPromiseReader(promises)
  const moments = Array.from({ length: cuts }, () => random.below(recording.steps.length + 1)).sort((a, b) => a - b)
  const chosen = random.below(cuts)
  let next: { tree: Tree; promises: Promises } | null = null
  let step = 0

  const count = (what: string, by = 1): void => {
    tally[what] = (tally[what] ?? 0) + by
  }

  for (const [index, moment] of moments.entries()) {
    for (; step < moment; step++) {
      const each = recording.steps[step]!
      if (each.kind === 'printed') read(JSON.parse(each.line) as Line)
    }
    disk.advance(moment)
    const fileSystem = FILE_SYSTEMS[random.below(FILE_SYSTEMS.length)]!
    const tree = disk.cut(fileSystem, random)
    const root = createFolder()
    try {
      build(root, tree)
      mkdirSync(join(root, 'data'), { recursive: true })
      const nowMs = 1_700_000_000_000 + (random.below(3) - 1) * 86_400_000
      const verdict = await verify(join(root, 'data'), promises, sync, nowMs)
      count(`cuts (SPOOL_SYNC=${sync}, ${fileSystem})`)
      if (verdict.lost > 0) count(`cuts with loss (SPOOL_SYNC=${sync}, ${fileSystem})`)
      count(`calls lost (SPOOL_SYNC=${sync}, ${fileSystem})`, verdict.lost)
      for (const fault of verdict.faults) {
        if (faults.length < FAULTS_MAX) {
          faults.push(`recording ${number}, cut ${index} at step ${moment}, ${sync}, ${fileSystem}: ${fault}`)
        }
      }
      if (index === chosen) next = { tree, promises: afterCut(promises, verdict.found) }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }
  return next
}

/** What was found is on disk for good; the rest of what was promised is lost, and known to be. */
function afterCut(promises: Promises, found: ReadonlySet<string>): Promises {
  const after = structuredClone(promises)
  after.safe.clear()
  after.synced.clear()
  for (const id of found) after.kept.add(id)
  return after
}

function workload(dataDir: string, sync: SpoolSync, session: number, steps: number, random: Random, isKilled: boolean) {
  const segmentBytesMax = SEGMENT_BYTES[random.below(SEGMENT_BYTES.length)]!
  return { dataDir, seed: random.below(2 ** 31), session, sync, steps, segmentBytesMax, isKilled }
}

/** In memory where that is possible: thousands of folders are made and removed. */
function createFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-cut-'))
}

/** SQLite's index of its log (`-shm`) is no file to be trusted after a crash, and is made again. */
function build(root: string, tree: Tree): void {
  for (const [path, content] of tree) {
    if (content === null) mkdirSync(join(root, path))
    else if (!path.endsWith('-shm')) writeFileSync(join(root, path), content, { mode: 0o600 })
  }
}
