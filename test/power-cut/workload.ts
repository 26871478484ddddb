/**
 * Works on a data folder like the service, with the real writer, reader, checkpoint and registry. Prints its promises
 * (`promises.ts`): before it attempts a step, and after the step is guaranteed. `record.ts` runs it under strace.
 *
 * Exits normally or by SIGKILL, depending on its arguments.
 */

import { stat } from 'node:fs/promises'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Explanation } from '../../src/foundation/domain/explanation.ts'
import type { RiskEvent } from '../../src/foundation/domain/risk.ts'
import { flushToken } from '../../src/storage/store/flush-token.ts'
import { laterOf } from '../../src/storage/spool/spool-position.ts'
import { setRunningMark } from '../../src/storage/spool/running-mark.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../src/storage/spool/spool-gauge.ts'
import { openSpoolReader } from '../../src/storage/spool/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from '../../src/storage/spool/spool-writer.ts'
import type { SpoolSync } from '../../src/storage/spool/spool-writer-options.ts'
import { makeFolder } from '../../src/foundation/runtime/sync-folder.ts'
import { loadMasterKey } from '../../src/foundation/runtime/vault.ts'
import { openSqliteCheckpoint } from '../../src/storage/store/sqlite/checkpoint.ts'
import { lockDataFolder } from '../../src/storage/store/sqlite/data-folder.ts'
import { openSqliteRegistry } from '../../src/storage/store/sqlite/registry.ts'
import type { PendingFlush } from '../../src/storage/store/checkpoint.ts'
import { documentKind, type Write } from '../../src/storage/store/registry.ts'
import { inspectFolder } from '../../src/storage/recovery/folder-parts.ts'
import { createRandom } from '../random.ts'
import { callOf } from './calls.ts'
import { createTickClock } from './tick-clock.ts'
import type { Line } from './promises.ts'
import { readRest } from './rest.ts'

const NOTE = documentKind<unknown>('note', 'hidden')

export interface WorkloadOptions {
  readonly dataDir: string
  readonly seed: number
  /** Number of the process among those of the data folder, from 0. */
  readonly session: number
  readonly sync: SpoolSync
  readonly steps: number
  readonly segmentBytesMax: number
  readonly isKilled: boolean
  /** Boot id of the machine. */
  readonly boot: string
}

const SOURCES = ['gateway-0', 'gateway-1', 'platform']
const DOCUMENTS = 60
const EXPLANATION: Explanation = { detail: 'the quota is used up', stage: 'limit' }
const RISK: RiskEvent = {
  id: '',
  riskId: 'rsk_1',
  tenant: 'tenant-0',
  phase: 'opened',
  type: 'AuthFailure401',
  category: 'Security',
  severity: 'Info',
  attributedTo: { kind: 'consumer', id: 'con_1', name: 'Shop' },
  api: 'payments-v1',
  operation: '',
  count: 1,
  windowSeconds: 60,
  firstSeenMs: 1_000,
  lastSeenMs: 1_000,
  message: '',
  evidence: { total: 1, statuses: {}, reasons: {}, operations: {}, requestIds: [] },
}
const AUTHOR = { tenant: 'tenant-0', consumer: 'system' }

const options = JSON.parse(process.argv[2] ?? '') as WorkloadOptions
await work(options)
if (options.isKilled) process.kill(process.pid, 'SIGKILL')

async function work({ dataDir, seed, session, sync, steps, segmentBytesMax, boot }: WorkloadOptions): Promise<void> {
  const random = createRandom(seed)
  const clock = createTickClock(1_700_000_000_000 + (random.below(3) - 1) * session * 3_600_000)

  const unlock = lockDataFolder(dataDir)
  const folder = inspectFolder({ dataDir, hasMasterKey: false, isEmbedded: false })
  print({ did: 'key', hex: loadMasterKey({ dataDir, masterKey: null }).toString('hex') })
  const registry = openSqliteRegistry({ path: join(dataDir, 'registry.db'), clock })
  const checkpoint = openSqliteCheckpoint({
    path: join(dataDir, 'checkpoint.db'),
    newInstance: () => `instance${seed}`,
  })
  let commits = session * 100_000
  let risks = Number(checkpoint.lastEventId().slice('evt_'.length) || 0)
  print({ did: 'open', instance: checkpoint.instance, commits: await lastCommit() })

  const spool = join(dataDir, 'spool')
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), 1 << 30)
  makeFolder(spool, 0o700)
  folder.complete(checkpoint.instance)
  const removeMark = setRunningMark({ dataDir, sync, nowMs: clock.nowMs(), boot, onDamage: () => {} })
  const billed = checkpoint.position()
  const after = [checkpoint.pending()?.to ?? {}, checkpoint.riskPosition()].reduce(laterOf, billed)
  const reader = openSpoolReader({ folder: spool, gauge, billed, onDamage: () => {}, onTornTail: () => {} })
  const pending = checkpoint.pending()
  if (pending !== null) await store(pending, () => readRest(reader, pending.from, pending.to).map(({ id }) => id))
  const writers = SOURCES.map((source, index) => {
    const prefix = (seed % 2 ** 31).toString(16).padStart(8, '0') + session.toString(16).padStart(6, '0') + `0${index}`
    const writer = createSpoolWriter({
      folder: join(spool, source),
      after: after[source],
      requestPrefix: prefix,
      sync,
      gauge,
      clock,
      segmentBytesMax,
      explanations: { onDropped: () => {} },
      onGrowth: () => {},
      onFailure(cause) {
        throw cause
      },
    })
    return { writer, prefix, sequence: 0 }
  })

  for (let step = 0; step < steps; step++) {
    clock.advance(random.below(400))
    const lot = random.below(100)
    if (lot < 55) await record(writers[random.below(writers.length)]!)
    else if (lot < 65) await tick()
    else if (lot < 77) await flush()
    else if (lot < 82) risk()
    else await commit()
  }
  if (options.isKilled) return
  print({ did: 'tick' })
  for (const { writer } of writers) writer.close()
  print({ did: 'ticked' })
  reader.close()
  removeMark()
  checkpoint.close()
  registry.close()
  unlock()

  async function record(of: { writer: SpoolWriter; prefix: string; sequence: number }): Promise<void> {
    const calls = random.below(20) === 0 ? 1 + random.below(400) : 1 + random.below(12)
    print({ did: 'offer', prefix: of.prefix, sequence: of.sequence + calls })
    let left = calls
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    for (let each = 0; each < calls; each++) {
      of.writer.append({
        ...callOf(of.prefix, ++of.sequence),
        explanation: random.below(10) === 0 ? EXPLANATION : null,
        onSafe: () => void (--left === 0 && resolve()),
        onRefused: reject,
      })
    }
    await promise
    print({ did: 'safe', prefix: of.prefix, sequence: of.sequence })
  }

  /** One thread runs asynchronous calls, so a later call ends after the syncs that the timer began. */
  async function tick(): Promise<void> {
    print({ did: 'tick' })
    clock.tick()
    await stat(dataDir)
    print({ did: 'ticked' })
  }

  async function flush(): Promise<void> {
    const from = checkpoint.position()
    const ids: string[] = []
    const to = reader.read(from, (batch) => {
      for (let index = 0; index < batch.count; index++) ids.push(batch.requestId(index))
    })
    if (ids.length === 0) return
    print({ did: 'begin', to: JSON.stringify(to) })
    await store(checkpoint.begin(to), () => ids)
    reader.release(to)
  }

  /** Flushes in the steps of the pipeline; printed lines represent the store. */
  async function store(flush: PendingFlush, read: () => readonly string[]): Promise<void> {
    const { number, from, to } = flush
    const { instance } = checkpoint
    const note = { instance, number, from, to, atMs: clock.nowMs(), totals: {}, registryEnd: await registry.end() }
    print({ did: 'note', note: { ...note, isDone: false } })
    print({ did: 'store', token: flushToken('usage', instance, flush), ids: read() })
    print({ did: 'note', note: { ...note, isDone: true } })
    checkpoint.commit(flush, note.registryEnd)
    print({ did: 'flushed' })
  }

  function risk(): void {
    const number = ++risks
    print({ did: 'risk', number })
    const events = Array.from({ length: 1 + random.below(3) }, (_, index) => ({
      ...RISK,
      id: `evt_${String(number).padStart(8, '0')}${index === 0 ? '' : `_${index}`}`,
    }))
    const last = { ...RISK, id: `evt_${String(number).padStart(8, '0')}` }
    checkpoint.commitRisk(checkpoint.riskPosition(), [], [...events.slice(1), last], 0)
    print({ did: 'risked', number })
    if (random.below(4) > 0) return
    const batch = checkpoint.nextBatch()
    if (batch !== null) checkpoint.sent(batch)
  }

  async function commit(): Promise<void> {
    const number = ++commits
    const ids = new Set(Array.from({ length: 1 + random.below(4) }, () => `doc_${random.below(DOCUMENTS)}`))
    const writes: Write[] = []
    for (const id of ids) {
      const before = await registry.get(NOTE, id)
      const body = before !== null && random.below(8) === 0 ? null : { number, text: 'x'.repeat(random.below(3_000)) }
      const keys = { number: String(number), id }
      writes.push({ kind: 'note', id, tenant: 'tenant-0', expected: before?.revision ?? 0, body, keys, unique: ['id'] })
    }
    print({ did: 'commit', number, writes: writes.length })
    await registry.commit(AUTHOR, String(number), writes)
    print({ did: 'committed', number })
  }

  /** Returns the number of the last commit in the registry; 0 if there is none. */
  async function lastCommit(): Promise<number> {
    const [last] = await registry.history({ tenant: 'tenant-0', bodiesOf: [], limit: 1 })
    return Number(last?.action ?? 0)
  }
}

function print(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}
