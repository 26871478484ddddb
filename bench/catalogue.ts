/**
 * P7 to P9, and the control plane's own latency: what a large catalogue costs the calls, the memory and
 * the start.
 *
 * Two data folders, a small one (10 APIs, 1,000 subscriptions) and a large one, each filled by copying
 * what the public API made. Both services run at once and are loaded in turn, round by round.
 *
 *   BENCH_APIS=10000 BENCH_SUBSCRIPTIONS=1000000 BENCH_ROUNDS=5 BENCH_SECONDS=4 node bench/catalogue.ts
 */

import { readFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { createPlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceProcess } from '../src/interfaces/cli/service-process.ts'
import { BENCH_PATH } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { percentile, spreadOf, toText } from './spread.ts'
import { stock } from './stock.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { gatewayCpuMs, startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const LARGE = {
  apis: Number(process.env['BENCH_APIS'] ?? 10_000),
  subscriptions: Number(process.env['BENCH_SUBSCRIPTIONS'] ?? 1_000_000),
}
const SMALL = { apis: 10, subscriptions: 1_000 }
const CONNECTIONS = 32
const CLIENT_SECRET = 'a secret for the length of a bench'
const WRITES = 2_000
const START_MS_MAX = 600_000

interface Running {
  readonly name: string
  readonly service: ServiceProcess
  readonly token: string
  readonly subscription: string
  readonly startMs: number
  readonly residentMiB: number
}

console.log(`machine: ${describeMachine()}`)
const workbench = await openWorkbench()
const folder = mkdtempSync(join(tmpdir(), 'tollgate-catalogue-'))
const running: Running[] = []
try {
  for (const [name, size] of Object.entries({ small: SMALL, large: LARGE })) running.push(await open(name, size))
  for (const each of running) {
    console.log(
      `${each.name}: start to first served call ${each.startMs.toFixed(0)} ms, resident ${each.residentMiB.toFixed(0)} MiB`,
    )
  }
  await calls()
  for (const each of running) await latencies(each)
} finally {
  for (const { service } of running) await service.stop()
  await workbench.close()
  rmSync(folder, { recursive: true, force: true })
}

async function open(name: string, size: typeof SMALL): Promise<Running> {
  const dataDir = join(folder, name)
  const options = { dataDir, clientSecret: CLIENT_SECRET, startMsMax: START_MS_MAX }
  const { service: maker, enrolment } = await startSubject(workbench.backendPort, options)
  await maker.stop()
  const startedMs = performance.now()
  await stock({ path: join(dataDir, 'registry.db'), api: BENCH_API, subscription: enrolment.subscription, ...size })
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
  console.log(`${name}: ${size.apis} APIs and ${size.subscriptions} subscriptions, stocked in ${seconds} s`)

  const beginMs = performance.now()
  const address = { GATEWAY_THREADS: '1', GATEWAY_URL: maker.gatewayUrl }
  const service = await startService({ args: ['--empty'], env: address, ...options })
  const { token, subscription } = enrolment
  await firstCall(service.gatewayUrl, token)
  const startMs = performance.now() - beginMs
  return { name, service, token, subscription, startMs, residentMiB: residentMiB(service.pid) }
}

async function firstCall(origin: string, token: string): Promise<void> {
  const { statusCode, body } = await request(origin + BENCH_PATH, { headers: { authorization: `Bearer ${token}` } })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`the first call answered ${statusCode}: ${text}`)
}

async function calls(): Promise<void> {
  const samples = new Map<string, number[]>(running.map(({ name }) => [name, []]))
  for (let round = -1; round < ROUNDS; round++) {
    for (const { name, service, token } of round % 2 === 0 ? running : running.toReversed()) {
      const startMs = gatewayCpuMs(service.pid)
      const url = service.gatewayUrl + BENCH_PATH
      const { calls: count, failed } = await load({ url, token, connections: CONNECTIONS, seconds: SECONDS })
      if (failed > 0) throw new Error(`${name}: ${failed} calls failed`)
      if (round >= 0) samples.get(name)?.push(((gatewayCpuMs(service.pid) - startMs) * 1000) / count)
    }
  }
  const [small = [], large = []] = samples.values()
  console.log(`full call, small: ${toText(spreadOf(small), 1)} µs, large: ${toText(spreadOf(large), 1)} µs`)
  console.log(`P7  large ÷ small: ${toText(spreadOf(large.map((us, at) => us / small[at]!)), 2)}, target ≤ 1.1`)
  const [one, other] = running
  const bytes = (((other?.residentMiB ?? NaN) - (one?.residentMiB ?? NaN)) * 1024 ** 2) / LARGE.subscriptions
  console.log(`P8  resident of the process, large − small: ${bytes.toFixed(0)} bytes a subscription, target ≤ 1,024`)
}

/** One write or read after the other, as one client sees them. */
async function latencies({ name, service, subscription }: Running): Promise<void> {
  const platform = createPlatformClient(service)
  const writes = await times(() => platform.post('/v1/consumers', { name: 'Ada', kind: 'application' }))
  const reads = await times(() => platform.get(`/v1/subscriptions/${subscription}`))
  const p99 = (values: readonly number[]) =>
    percentile(
      values.toSorted((a, b) => a - b),
      99,
    ).toFixed(2)
  console.log(`${name}: write p99 ${p99(writes)} ms (target ≤ 5), read p99 ${p99(reads)} ms (target ≤ 2)`)
}

async function times(work: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = []
  for (let count = 0; count < WRITES; count++) {
    const startMs = performance.now()
    await work()
    taken.push(performance.now() - startMs)
  }
  return taken
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) / 1024
}
