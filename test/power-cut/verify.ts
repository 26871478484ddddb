/** Opens a data folder after a power cut with the code of the service, and compares it with the promises. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { flushToken } from '../../src/storage/store/flush-token.ts'
import { laterOf } from '../../src/storage/spool/spool-position.ts'
import type { Damage } from '../../src/storage/spool/damage.ts'
import { setRunningMark } from '../../src/storage/spool/running-mark.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../src/storage/spool/spool-gauge.ts'
import { openSpoolReader, type OpenSpoolReader } from '../../src/storage/spool/spool-reader.ts'
import { createSpoolWriter } from '../../src/storage/spool/spool-writer.ts'
import type { SpoolSync } from '../../src/storage/spool/spool-writer-options.ts'
import { positionsOf } from '../../src/storage/recovery/agree.ts'
import { compare } from '../../src/storage/recovery/compare.ts'
import { inspectFolder } from '../../src/storage/recovery/folder-parts.ts'
import { isSpoolEmptied, spoolHolds } from '../../src/storage/recovery/spool-holdings.ts'
import { loadMasterKey } from '../../src/foundation/runtime/vault.ts'
import type { SpoolPosition } from '../../src/storage/store/checkpoint.ts'
import type { FlushNote } from '../../src/storage/store/flush-log.ts'
import { openSqliteCheckpoint, type SqliteCheckpoint } from '../../src/storage/store/sqlite/checkpoint.ts'
import { lockDataFolder } from '../../src/storage/store/sqlite/data-folder.ts'
import { openSqliteRegistry } from '../../src/storage/store/sqlite/registry.ts'
import { documentKind, type Change } from '../../src/storage/store/registry.ts'
import { callOf, isTrue, toRequestId } from './calls.ts'
import { idsUpTo, promisedIds, type Promises } from './promises.ts'
import { readAll, readRest, type ReadRecord } from './rest.ts'
import { createTickClock } from './tick-clock.ts'

const NOTE = documentKind<unknown>('note', 'hidden')

export interface Verdict {
  /** Broken promises; empty if everything is correct. */
  readonly faults: readonly string[]
  /** Ids that are in the store or can be read. */
  readonly found: ReadonlySet<string>
  /** Lost calls that were reported to their caller as safe, and whose loss `SPOOL_SYNC` allows. */
  readonly lost: number
  readonly damage: readonly Damage[]
  /** The start is refused with a message, because nothing of the spool remains. */
  readonly isRefused: boolean
}

const SOURCES = ['gateway-0', 'gateway-1', 'platform', 'gateway-2']
const NEW_RECORDS = 3
const NOT_FOUND_MAX = 5

export interface VerifyOptions {
  readonly dataDir: string
  readonly promises: Promises
  readonly sync: SpoolSync
  /** Time of the machine after the power cut, which may be earlier than before it. */
  readonly nowMs: number
}

export async function verify({ dataDir, promises, sync, nowMs }: VerifyOptions): Promise<Verdict> {
  const faults: string[] = []
  const check = (isTrue: boolean, fault: () => string): void => {
    if (!isTrue) faults.push(fault())
  }
  const result = { found: new Set<string>(), lost: 0, damage: [] as Damage[], isRefused: false }
  try {
    const unlock = lockDataFolder(dataDir)
    const { manifest } = inspectFolder({ dataDir, hasMasterKey: false, isEmbedded: false })
    verifyKey(dataDir, promises, check)
    const registryEnd = await verifyRegistry(dataDir, promises, check)
    const checkpoint = openSqliteCheckpoint({
      path: join(dataDir, 'checkpoint.db'),
      newInstance: () => promises.instance ?? 'new',
    })
    const isOwn = manifest === null || manifest.instance === checkpoint.instance
    check(isOwn, () => 'the start is refused: checkpoint.db belongs to another data folder')
    verifyAgreement({ dataDir, checkpoint, promises, registryEnd, check })
    // The names of segments are not synced either in this mode.
    result.isRefused = isSpoolEmptied(join(dataDir, 'spool'), checkpoint.position())
    check(!result.isRefused || sync === 'never', () => 'the start is refused: spool/ is empty')
    verifyCheckpoint(checkpoint, promises, check)
    Object.assign(result, verifySpool({ dataDir, checkpoint, promises, sync, nowMs, check }))
    checkpoint.close()
    check(isSound(join(dataDir, 'checkpoint.db')), () => 'checkpoint.db fails quick_check')
    unlock()
  } catch (cause) {
    faults.push(`it does not start: ${cause instanceof Error ? cause.stack : String(cause)}`)
  }
  return { ...result, faults }
}

type Check = (isTrue: boolean, fault: () => string) => void

function verifyKey(dataDir: string, { key }: Promises, check: Check): void {
  const found = loadMasterKey({ dataDir, masterKey: null }).toString('hex')
  check(key === null || found === key, () => 'the master key is another one')
}

/** Checks that the commits form a prefix, with at least all acknowledged ones, and that each is complete. */
async function verifyRegistry(dataDir: string, { commits, committed }: Promises, check: Check): Promise<number> {
  const path = join(dataDir, 'registry.db')
  const registry = openSqliteRegistry({ path, clock: createTickClock(0) })
  const found: { number: number; writes: number }[] = []
  const latest = new Map<string, Change>()
  registry.watch(0, (change) => {
    latest.set(change.document.id, change)
  })()
  const database = new DatabaseSync(path)
  for (const { action } of database.prepare('SELECT action FROM change ORDER BY position').iterate() as Iterable<{
    action: string
  }>) {
    const last = found.at(-1)
    if (last?.number === Number(action)) last.writes++
    else found.push({ number: Number(action), writes: 1 })
  }
  database.close()
  check(found.length >= committed, () => `the registry has ${found.length} of ${committed} answered commits`)
  const expected = commits.slice(0, found.length).map(({ number, writes }) => ({ number, writes }))
  check(JSON.stringify(found) === JSON.stringify(expected), () => 'the registry has commits that are not whole')
  for (const [id, { document, removed }] of latest) {
    const now = await registry.get(NOTE, id)
    const isAsLastChanged = removed ? now === null : JSON.stringify(now) === JSON.stringify(document)
    check(isAsLastChanged, () => `document ${id} is not as its last change left it`)
    const byKey = await registry.find(NOTE, 'id', id)
    check(removed === (byKey === null), () => `document ${id} is not found by its key`)
  }
  const end = await registry.end()
  registry.close()
  check(isSound(path), () => 'registry.db fails quick_check')
  return end
}

interface AgreementCase {
  readonly dataDir: string
  readonly checkpoint: SqliteCheckpoint
  readonly promises: Promises
  readonly registryEnd: number
  readonly check: Check
}

/** Repeats the comparisons of a start: no file may look like an older copy. The store is a list of entries and loses nothing. */
function verifyAgreement({ dataDir, checkpoint, promises, registryEnd, check }: AgreementCase): void {
  const claims = checkpoint.claims()
  const spool = join(dataDir, 'spool')
  check(claims.wentBackBy === 0, () => `checkpoint.db went back by ${claims.wentBackBy} changes`)
  check(claims.registryEnd <= registryEnd, () => `registry.db went back by ${claims.registryEnd - registryEnd} changes`)
  const numbers = [...promises.notes.keys()].sort((a, b) => a - b)
  const noteOf = (number: number): FlushNote | null => promises.notes.get(number) ?? null
  const verdict = compare({
    checkpoint: claims,
    ...positionsOf(checkpoint),
    store: {
      isNew: false,
      hasRows: promises.stored.size > 0,
      last: noteOf(numbers.at(-1) ?? 0),
      others: [],
      next: noteOf(claims.flushes + 1),
      notedAfter: numbers.filter((number) => number > claims.flushes).length,
      missing: [],
      excess: [],
      differing: [],
      isExact: true,
    },
    holds: spoolHolds(spool),
    isKnown: true,
  })
  check(verdict.kind === 'agreed', () => `checkpoint and store do not agree: ${JSON.stringify(verdict)}`)
}

function verifyCheckpoint(checkpoint: SqliteCheckpoint, promises: Promises, check: Check): void {
  const { instance, begun, flushed, riskTried, riskDone } = promises
  check(instance === null || checkpoint.instance === instance, () => 'the checkpoint is of another instance')
  const position = JSON.stringify(checkpoint.position())
  const possible = flushed === 0 ? ['{}', ...begun] : begun.slice(flushed - 1)
  check(possible.includes(position), () => `the checkpoint is at ${position}, not at one of ${possible.join(' ')}`)
  const pending = checkpoint.pending()
  check(
    pending === null || (begun.includes(JSON.stringify(pending.to)) && JSON.stringify(pending.from) === position),
    () => `the pending flush ${JSON.stringify(pending)} is none that was begun`,
  )
  const risk = Number(checkpoint.lastEventId().slice('evt_'.length) || 0)
  check(risk >= riskDone && risk <= Math.max(riskDone, riskTried), () => `event ${risk} is the last, not ${riskDone}`)
  checkpoint.commitRisk({}, [], [], 0)
}

interface SpoolCase {
  readonly dataDir: string
  readonly checkpoint: SqliteCheckpoint
  readonly promises: Promises
  readonly sync: SpoolSync
  readonly nowMs: number
  readonly check: Check
}

/** Works like a start: finishes the pending flush, continues reading, and writes new records. */
function verifySpool({ dataDir, checkpoint, promises, sync, nowMs, check }: SpoolCase) {
  const spool = join(dataDir, 'spool')
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), 1 << 30)
  const damage: Damage[] = []
  setRunningMark({ dataDir, sync, nowMs, boot: 'after the cut', onDamage: (each) => damage.push(each) })
  const billed = checkpoint.position()
  const after = laterOf(billed, checkpoint.pending()?.to ?? {})
  const onDamage = (each: Damage): unknown => damage.push(each)
  const reader = openSpoolReader({ folder: spool, gauge, billed, onDamage, onTornTail: () => {} })
  const found = new Set<string>()
  for (const ids of promises.stored.values()) for (const id of ids) found.add(id)

  const take = (records: readonly ReadRecord[]): void => {
    for (const { id, record } of records) {
      check(!found.has(id), () => `call ${id} is billed twice`)
      check(isTrue(id, record), () => `call ${id} is not as it was written: ${JSON.stringify(record)}`)
      const [prefix, sequence] = [id.slice(0, 16), Number.parseInt(id.slice(16), 16)]
      check(sequence <= (promises.offered.get(prefix) ?? 0), () => `call ${id} was never made`)
      found.add(id)
    }
  }

  let position: SpoolPosition = billed
  const pending = checkpoint.pending()
  if (pending !== null) {
    // The flush log of the store shows which flushes it has.
    const isStored = promises.stored.has(flushToken('usage', checkpoint.instance, pending))
    if (!isStored) take(readRest(reader, pending.from, pending.to))
    checkpoint.commit(pending)
    position = pending.to
  }
  const rest = readAll(reader, position)
  take(rest.records)

  const missing = [...promisedIds(promises, sync)].filter((id) => !found.has(id))
  check(missing.length === 0, () => `${missing.length} promised calls are lost: ${missing.slice(0, NOT_FOUND_MAX)}`)
  const lost = [...idsUpTo(promises.safe)].filter((id) => !found.has(id)).length

  reader.release(rest.to)
  const written = writeNew(spool, sync, nowMs, after)
  const read = readAll(reader, rest.to).records.map(({ id }) => id)
  check(read.join() === written.join(), () => `of new calls ${written.join(' ')} these are read: ${read.join(' ')}`)
  reader.close()
  const absent = [...idsUpTo(promises.offered)].filter((id) => !found.has(id)).length
  const named = damage.reduce((sum, { records }) => sum + records, 0)
  check(
    named <= absent,
    () => `${named} records are reported as missing, but only ${absent} are: ${JSON.stringify(damage)}`,
  )
  // The remainder of a batch whose calls had no response yet may look like damage.
  check(
    sync !== 'always' || absent > 0 || damage.length === 0,
    () => `reported without a loss: ${JSON.stringify(damage)}`,
  )
  check(lost === 0 || damage.length > 0, () => `${lost} calls are lost in silence`)
  return { found, lost, damage }
}

/** Calls of writers that start after the power cut, by source. */
function writeNew(spool: string, sync: SpoolSync, nowMs: number, after: SpoolPosition): string[] {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), 1 << 30)
  return [...SOURCES].sort().flatMap((source, index) => {
    const prefix = `ffffffff0000000${index}`
    const writer = createSpoolWriter({
      folder: join(spool, source),
      after: after[source],
      requestPrefix: prefix,
      sync,
      gauge,
      clock: createTickClock(nowMs),
      onGrowth: () => {},
      onFailure(cause) {
        throw cause
      },
    })
    const ids = Array.from({ length: NEW_RECORDS }, (_, each) => toRequestId(prefix, each + 1))
    for (let each = 1; each <= NEW_RECORDS; each++) {
      writer.append({ ...callOf(prefix, each), onSafe() {}, onRefused() {} })
    }
    writer.close()
    return ids
  })
}

function isSound(path: string): boolean {
  if (!existsSync(path)) return false
  const database = new DatabaseSync(path)
  const rows = database.prepare('PRAGMA quick_check').all() as { quick_check: string }[]
  database.close()
  return rows.length === 1 && rows[0]!.quick_check === 'ok'
}

export type { OpenSpoolReader }
