/**
 * What callers of the gateway feel while eight heavy summaries are read at once, one after the other: ten years, by
 * subscription.
 *
 * The data folder has ten million line items that are generated inside the store.
 *
 *   node bench/summary-load.ts [--items 10000000]
 */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startService } from '../src/interfaces/cli/service-process.ts'
import { openClickHouse } from '../src/storage/store/clickhouse/client.ts'
import { countRows, writeNote } from '../src/storage/store/clickhouse/flush-notes.ts'
import { migrate } from '../src/storage/store/clickhouse/migrations.ts'
import { BENCH_PATH } from './contestant.ts'
import { generateUsage } from './generate-usage.ts'
import { startLatencyProbe } from './latency-probe.ts'
import { describeMachine } from './machine.ts'
import { startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const QUERIES = 8
const ROUNDS = 3
const QUIET_MS = 10_000
const SECRET = randomBytes(24).toString('base64url')
const PATH = '/v1/summaries?from=2016-11-01T00:00:00Z&to=2026-11-04T12:34:56Z&groupBy=subscription&limit=500'
const { values } = parseArgs({ options: { items: { type: 'string', default: '10000000' } } })

console.log(`machine: ${describeMachine()}`)
const dataDir = mkdtempSync(join(tmpdir(), 'summary-load-'))
const workbench = await openWorkbench()
try {
  // Makes the other parts of the data folder.
  await (await startService({ args: ['--empty'], dataDir, clientSecret: SECRET })).stop()
  await fill(join(dataDir, 'clickhouse'), Number(values.items))
  const { service, platform, enrolment } = await startSubject(workbench.backendPort, {
    args: ['--empty'],
    env: { GATEWAY_THREADS: '1' },
    dataDir,
    clientSecret: SECRET,
  })
  const probe = startLatencyProbe([{ name: 'gateway', url: service.gatewayUrl + BENCH_PATH, token: enrolment.token }])
  try {
    await pause(QUIET_MS)
    for (let round = 0; round < ROUNDS; round++) {
      await report('nothing else', () => pause(QUIET_MS))
      await report(`${QUERIES} summaries`, async () => {
        const end = performance.now() + QUIET_MS
        let answered = 0
        const readAll = async (): Promise<void> => {
          for (; performance.now() < end; answered++) await platform.get(PATH)
        }
        await Promise.all(Array.from({ length: QUERIES }, readAll))
        console.log(`  ${answered} summaries answered`)
      })
    }
  } finally {
    await probe.stop()
    await service.stop()
  }

  async function report(name: string, work: () => Promise<void>): Promise<void> {
    const start = performance.now()
    const { latencies } = await probe.during(work)
    const { calls, failed, p50Ms, p99Ms, maxMs } = latencies.get('gateway')!
    const seconds = ((performance.now() - start) / 1_000).toFixed(1)
    const times = [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)).join(', ')
    console.log(`${name.padEnd(14)} ${seconds} s, ${calls} calls, ${failed} failed; p50, p99, max ms: ${times}`)
  }
} finally {
  await workbench.close()
  rmSync(dataDir, { recursive: true, force: true })
}

/** The note says that a flush stored the rows; without it, the start is refused. */
async function fill(folder: string, items: number): Promise<void> {
  const client = openClickHouse({ url: null, folder })
  await migrate(client)
  await generateUsage(client, { tenant: 'default', items })
  const nowhere = {} as never
  await writeNote(client, {
    ...{ instance: 'generated', number: 1, isDone: true, atMs: Date.now(), from: nowhere, to: nowhere },
    ...{ totals: await countRows(client), registryEnd: 0 },
  })
  await client.close()
}
