/** Makes recordings, cuts the power at random moments of each, and tallies the results. */

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SpoolSync } from '../../src/storage/spool/spool-writer-options.ts'
import { createRandom, type Random } from '../random.ts'
import { createDisk, FILE_SYSTEMS, type Tree } from './disk.ts'
import { createPromiseReader, noPromises, type Line, type Promises } from './promises.ts'
import { record } from './record.ts'
import type { Recording } from './recording.ts'
import { verify } from './verify.ts'
import type { WorkloadOptions } from './workload.ts'

export interface CampaignOptions {
  readonly seed: number
  readonly cuts: number
  readonly recordings: number
  readonly syncs?: readonly SpoolSync[]
  /** A disk that pretends to sync: the negative test. */
  readonly ignoresSyncs?: boolean
  /** Faults that are kept, after which no recording begins. Default: 20. */
  readonly faultsMax?: number
}

export interface Campaign {
  readonly cuts: number
  readonly tally: ReadonlyMap<string, Tally>
  readonly faults: readonly string[]
}

/** Results of one setting of `SPOOL_SYNC` on one file system. */
export interface Tally {
  cuts: number
  /** Cuts that lost calls whose callers had received their responses. */
  withLoss: number
  callsLost: number
  /** Cuts that were reported, as loss or as possible loss. */
  reported: number
  /** Calls that were reported as missing. */
  callsReported: number
  /** Cuts after which the service refuses to start, with a message. */
  refused: number
}

const SYNCS: readonly SpoolSync[] = ['always', 'second', 'never']
const SEGMENT_BYTES = [2_000, 16_000, 200_000]
/** Arguments of each of the two processes of a recording. */
const STEPS = 120
const NOW_MS = 1_700_000_000_000
const DAY_MS = 86_400_000
const FAULTS_MAX = 20
const FOLDERS_KEPT_MAX = 3

/** Most recordings begin with the data folder after the power cut of an earlier one. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { seed, cuts, recordings, syncs = SYNCS, ignoresSyncs = false, faultsMax = FAULTS_MAX } = options
  const random = createRandom(seed)
  const tally = new Map<string, Tally>()
  const faults: string[] = []
  const begins = new Map<SpoolSync, Begin>()
  let done = 0
  for (let number = 0; number < recordings && faults.length < faultsMax; number++) {
    const sync = syncs[number % syncs.length]!
    const begin = begins.get(sync) ?? { tree: new Map(), promises: noPromises() }
    const recording = await recordOn(begin.tree, sync, number, random)
    const steps = ignoresSyncs ? recording.steps.filter(({ kind }) => kind !== 'synced') : recording.steps
    const goal = Math.floor((cuts * (number + 1)) / recordings)
    const name = `seed ${seed}, recording ${number}`
    const job = {
      recording: { ...recording, steps },
      begin,
      sync,
      name,
      cuts: goal - done,
      random,
      tally,
      faults,
      faultsMax,
    }
    const next = await cutRecording(job)
    done = goal
    if (next === null || random.below(4) === 0) begins.delete(sync)
    else begins.set(sync, next)
  }
  return { cuts: done, tally, faults }
}

/** Files, and the promises that must hold for them. */
interface Begin {
  readonly tree: Tree
  readonly promises: Promises
}

async function recordOn(tree: Tree, sync: SpoolSync, number: number, random: Random): Promise<Recording> {
  const root = createFolder(tree)
  const boot = `boot ${number}`
  const workload = (session: number): WorkloadOptions => ({
    dataDir: join(root, 'data'),
    seed: random.below(2 ** 31),
    session,
    sync,
    steps: STEPS,
    segmentBytesMax: SEGMENT_BYTES[random.below(SEGMENT_BYTES.length)]!,
    isKilled: random.below(2) === 0,
    boot,
  })
  try {
    return await record(root, [workload(number * 2), workload(number * 2 + 1)])
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

interface Job {
  readonly recording: Recording
  readonly begin: Begin
  readonly sync: SpoolSync
  readonly name: string
  readonly cuts: number
  readonly random: Random
  readonly tally: Map<string, Tally>
  readonly faults: string[]
  readonly faultsMax: number
}

/** Returns one of the states, with the promises that must still hold. */
async function cutRecording(job: Job): Promise<Begin | null> {
  const { recording, begin, sync, name, cuts, random, tally, faults, faultsMax } = job
  const disk = createDisk(recording)
  const promises = structuredClone(begin.promises)
  const read = createPromiseReader(promises)
  const moments = Array.from({ length: cuts }, () => random.below(recording.steps.length + 1)).sort((a, b) => a - b)
  const chosen = random.below(cuts)
  let next: Begin | null = null
  let step = 0

  for (const [index, moment] of moments.entries()) {
    for (; step < moment; step++) {
      const each = recording.steps[step]!
      if (each.kind === 'printed') read(JSON.parse(each.line) as Line)
    }
    disk.advance(moment)
    const fileSystem = FILE_SYSTEMS[random.below(FILE_SYSTEMS.length)]!
    const tree = disk.cut(fileSystem, random)
    const root = createFolder(tree)
    const nowMs = NOW_MS + (random.below(3) - 1) * DAY_MS
    const verdict = await verify({ dataDir: join(root, 'data'), promises, sync, nowMs })
    rmSync(root, { recursive: true, force: true })

    add(tally, `SPOOL_SYNC=${sync}, ${fileSystem}`, verdict)
    if (verdict.faults.length > 0) {
      const kept = faults.length < FOLDERS_KEPT_MAX ? `, files in ${createFolder(tree)}` : ''
      for (const fault of verdict.faults.slice(0, faultsMax - faults.length)) {
        faults.push(`${name}, cut ${index} before step ${moment}, ${sync}, ${fileSystem}${kept}: ${fault}`)
      }
    }
    if (index === chosen) next = { tree, promises: afterCut(promises, verdict.found) }
  }
  return next
}

function add(
  tally: Map<string, Tally>,
  name: string,
  { lost, damage, isRefused }: Awaited<ReturnType<typeof verify>>,
): void {
  const before = tally.get(name) ?? { cuts: 0, withLoss: 0, callsLost: 0, reported: 0, callsReported: 0, refused: 0 }
  tally.set(name, {
    cuts: before.cuts + 1,
    withLoss: before.withLoss + (lost > 0 ? 1 : 0),
    callsLost: before.callsLost + lost,
    reported: before.reported + (damage.length > 0 ? 1 : 0),
    callsReported: before.callsReported + damage.reduce((sum, { records }) => sum + records, 0),
    refused: before.refused + (isRefused ? 1 : 0),
  })
}

/** Calls that were found are on disk permanently; the other promised ones are known to be lost. */
function afterCut(promises: Promises, found: ReadonlySet<string>): Promises {
  const after = structuredClone(promises)
  after.safe.clear()
  after.synced.clear()
  for (const id of found) after.kept.add(id)
  return after
}

/**
 * Creates the parent of a data folder with these files; in memory if possible, since there are thousands. SQLite's index of its log
 * (`-shm`) is mapped memory that the recording does not contain, so it is filled with garbage.
 */
function createFolder(tree: Tree): string {
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-cut-'))
  for (const [path, content] of tree) {
    if (content === null) mkdirSync(join(root, path))
    else writeFileSync(join(root, path), path.endsWith('-shm') ? garbageOf(content) : content, { mode: 0o600 })
  }
  return root
}

function garbageOf(content: Buffer): Buffer {
  return Buffer.alloc(content.length, 0xa5)
}
