/**
 * A plain copy of a running data folder, its files copied in many orders with calls in between: the bill of a service on the copy is
 * exact, or the missing calls are reported, or the start is refused. It is never wrong without a report.
 *
 * `COPIES` sets the number of copies (4 in the suite); `SEED` repeats a run.
 */

import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { unlessGone } from '../../src/foundation/runtime/unless-gone.ts'
import { createRandom, type Random } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { useDisk } from '../fixtures/use-disk.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { billOf, lineItemsOf, startLoad, type Load, type Tally } from './load.ts'
import { createService, enrol, publish, type Enrolled, type Service, isEmbedded, TWO_THREADS } from './service.ts'

useDisk()

const COPIES = Number(process.env['COPIES'] ?? 4)
const SEED = readSeed(1)
const CALLS_BETWEEN = 60
/** Groups of files that are copied together; calls continue between two groups. */
const PIECES = [
  'registry.db',
  'registry.db-wal',
  'registry.db-shm',
  'registry.mark',
  'checkpoint.db',
  'checkpoint.db-wal',
  'checkpoint.db-shm',
  'checkpoint.mark',
  'folder.json',
  'running',
  'idempotency.db',
  'idempotency.db-wal',
  'master.key',
  'lock',
  'spool/gateway-0',
  'spool/gateway-0.mark',
  'spool/gateway-1',
  'spool/gateway-1.mark',
  'spool/platform',
  'spool/platform.mark',
  'clickhouse',
] as const

let backend: LedgerBackend
let service: Service
let callers: Enrolled[]

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  callers = []
  for (const name of ['Ada', 'Bea', 'Cid']) callers.push(await enrol(service, 'ledger-v1', { name }))
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

/** Copies like `cp -a`, but skips files that are removed meanwhile. */
function copyPiece(from: string, to: string): void {
  const kind = lstatSync(from, { throwIfNoEntry: false })
  if (kind === undefined) return
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  if (kind.isSymbolicLink()) unlessGone(() => symlinkSync(readlinkSync(from), to))
  else if (kind.isDirectory()) {
    mkdirSync(to, { recursive: true, mode: 0o700 })
    for (const name of list(from)) copyPiece(join(from, name), join(to, name))
  } else if (kind.isFile()) unlessGone(() => copyFileSync(from, to))
}

const list = (path: string): string[] => unlessGone(() => readdirSync(path)) ?? []

interface Taken {
  readonly dataDir: string
  /** Calls answered before the first group was copied, and calls sent before the last group was copied. */
  readonly before: readonly number[]
  readonly after: readonly number[]
}

async function copyInOrder(load: Load, pieces: readonly string[]): Promise<Taken> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-plain-copy-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = load.tallies.map(({ whole }) => whole)
  for (const piece of pieces) {
    copyPiece(join(service.dataDir, piece), join(dataDir, piece))
    await load.reached(Math.min(...load.tallies.map(({ whole }) => whole)) + CALLS_BETWEEN / PIECES.length)
  }
  return { dataDir, before, after: load.tallies.map(({ sent }) => sent) }
}

type Outcome = 'exact' | 'reported' | 'refused' | `SILENT: ${string}`

async function openCopy({ dataDir, before, after }: Taken, tallies: readonly Tally[]): Promise<Outcome> {
  const copy = await createService({ args: ['--empty'], dataDir })
  try {
    await copy.start()
  } catch (cause) {
    const text = String(cause)
    return /ended with 2\n/.test(text) ? 'refused' : `SILENT: ${text.slice(0, 300)}`
  }
  try {
    await copy.stop()
    const errors = copy.errors()
    await copy.start()
    const [bill, items] = [await billOf(copy), await lineItemsOf(copy)]
    const isReported = /RecordsDamaged|records_damaged|missing/.test(errors + copy.errors())
    for (const [index, { caller }] of tallies.entries()) {
      const [billed, listed] = [bill.get(caller.consumer) ?? 0, items.get(caller.consumer) ?? 0]
      if (billed > after[index]!) return `SILENT: ${billed} calls are billed of ${after[index]!} that were sent`
      if (billed !== listed)
        return isReported ? 'reported' : `SILENT: ${billed} in the summaries, ${listed} in line items`
      if (billed < before[index]!) {
        return isReported ? 'reported' : `SILENT: ${billed} calls are billed of ${before[index]!} that were answered`
      }
    }
    return isReported ? 'reported' : 'exact'
  } finally {
    await copy.kill()
  }
}

describe.skipIf(!isEmbedded)(
  'a plain copy of a running data folder (needs the registry and the store in the folder)',
  () => {
    it(
      `is exact, reported or refused, in ${COPIES} orders of its files`,
      { timeout: COPIES * 60_000 + 60_000 },
      async () => {
        const random = createRandom(SEED)
        const outcomes: string[] = []
        let earlier: readonly number[] = callers.map(() => 0)
        for (let copy = 0; copy < COPIES; copy++) {
          const pieces = shuffled(PIECES, random)
          const load = startLoad(service, callers)
          await load.reached(CALLS_BETWEEN)
          const { dataDir, before, after } = await copyInOrder(load, pieces)
          await load.stop()
          const taken = { dataDir, before: added(before, earlier), after: added(after, earlier) }
          const whole = load.tallies.map((tally) => tally.whole)
          earlier = added(whole, earlier)
          outcomes.push(`${await openCopy(taken, load.tallies)} (${pieces.join(' ')})`)
        }
        expect(
          outcomes.filter((outcome) => outcome.startsWith('SILENT')),
          `seed ${SEED}`,
        ).toEqual([])
      },
    )
  },
)

const added = (a: readonly number[], b: readonly number[]): number[] => a.map((each, index) => each + (b[index] ?? 0))

function shuffled<T>(items: readonly T[], { next }: Random): T[] {
  const order = items.map((item) => ({ item, at: next() }))
  return order.toSorted((a, b) => a.at - b.at).map(({ item }) => item)
}
