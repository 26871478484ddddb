/**
 * What identity costs: the first call of a token beside its later ones, and what known callers feel of
 * a flood of forged tokens.
 *
 * First use: every token of a set is called once, then once more, in turn; the difference in CPU of the
 * gateway thread is what verifying it cost (signature, claims, seat). Flood: known callers at a steady
 * rate, rounds with and without 2,000 tokens a second that look right in all but the signature; ratios
 * are made within a round.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=8 node bench/identity.ts
 */

import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import { fetchToken } from '../src/cli/platform-client.ts'
import { BENCH_PATH } from './contestant.ts'
import { describeMachine } from './machine.ts'
import { runPaced } from './paced-load.ts'
import { gatewayCpuMs, startSubject, type Subject } from './subject/tollgate.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { percentile, spreadOf, toText } from './spread.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const TOKENS = 4_000
const KNOWN_PER_SECOND = 1_000
const FORGED_PER_SECOND = 2_000
const FIRST_USE_US_MAX = 200
const LANES = 16

console.log(`machine: ${describeMachine()}`)
const workbench = await openWorkbench()
try {
  const subject = await startSubject(workbench.backendPort)
  try {
    await firstUse(subject)
    await flood(subject)
  } finally {
    await subject.service.stop()
  }
} finally {
  await workbench.close()
}

async function firstUse({ service, platform, enrolment }: Subject): Promise<void> {
  const credential = await clientOf(platform, enrolment.subscription)
  const mint = () => fetchToken({ gatewayUrl: service.gatewayUrl, api: BENCH_API, ...credential })
  const samples: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const tokens: string[] = []
    await inLanes(TOKENS, async () => void tokens.push((await mint()).accessToken))
    const first = await cpuOf(service.pid, () => callAll(service.gatewayUrl, tokens))
    const second = await cpuOf(service.pid, () => callAll(service.gatewayUrl, tokens))
    samples.push(((first - second) * 1000) / TOKENS)
  }
  const spread = spreadOf(samples)
  console.log(`first use of a token, beyond a later call: ${toText(spread, 0)} µs of CPU, target < ${FIRST_USE_US_MAX}`)
}

async function flood({ service, enrolment }: Subject): Promise<void> {
  const { gatewayUrl: origin, pid } = service
  const known = { origin, path: BENCH_PATH, callsPerSecond: KNOWN_PER_SECOND, seconds: SECONDS, statusExpected: 200 }
  const forged = { ...known, callsPerSecond: FORGED_PER_SECOND, statusExpected: 401, token: forge(enrolment.token) }
  await runPaced({ ...known, token: enrolment.token })
  const quiet: number[] = []
  const flooded: number[] = []
  const memory: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(p99Of(await runPaced({ ...known, token: enrolment.token })))
    const [one, other] = await Promise.all([runPaced({ ...known, token: enrolment.token }), runPaced(forged)])
    flooded.push(p99Of(one))
    if (other.unexpected > 0) throw new Error(`${other.unexpected} forged tokens were not answered 401`)
    memory.push(residentMiB(pid))
    console.log(`  round ${round + 1}: ${other.latenciesMs.length} forged, ${other.leftOut} not sent`)
  }
  console.log(`known callers, p99, quiet: ${toText(spreadOf(quiet), 2)} ms`)
  console.log(`known callers, p99, flood: ${toText(spreadOf(flooded), 2)} ms`)
  console.log(`flood ÷ quiet: ${toText(spreadOf(flooded.map((ms, at) => ms / quiet[at]!)), 2)}, target ≤ 2`)
  console.log(`resident after each flood: ${memory.map((mib) => mib.toFixed(0)).join(', ')} MiB`)
}

function p99Of({ latenciesMs, unexpected }: Awaited<ReturnType<typeof runPaced>>): number {
  if (unexpected > 0) throw new Error(`${unexpected} calls of a known caller failed`)
  return percentile(
    latenciesMs.toSorted((a, b) => a - b),
    99,
  )
}

/** The token with another signature at each call: everything about it is right but that. */
function forge(token: string): string {
  const [head = '', body = '', signature = ''] = token.split('.')
  return `${head}.${body}.{n}${signature.slice(12)}`
}

async function clientOf(platform: Subject['platform'], subscription: string) {
  const { items } = await platform.get<{ items: readonly { type: string; clientId: string; clientSecret: string }[] }>(
    `/v1/subscriptions/${subscription}/credentials`,
  )
  const client = items.find(({ type }) => type === 'OAuth2')
  if (client === undefined) throw new Error('the subscription has no client')
  return { clientId: client.clientId, clientSecret: client.clientSecret }
}

async function callAll(origin: string, tokens: readonly string[]): Promise<void> {
  const pool = new Pool(origin, { connections: LANES })
  const left = [...tokens]
  await inLanes(tokens.length, async () => {
    const headers = { authorization: `Bearer ${left.pop() ?? ''}` }
    const { statusCode, body } = await pool.request({ path: BENCH_PATH, method: 'GET', headers })
    await body.dump()
    if (statusCode !== 200) throw new Error(`a call with a good token answered ${statusCode}`)
  })
  await pool.close()
}

async function inLanes(count: number, work: () => Promise<void>): Promise<void> {
  let left = count
  const lane = async (): Promise<void> => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

async function cpuOf(pid: number, work: () => Promise<void>): Promise<number> {
  const startMs = gatewayCpuMs(pid)
  await work()
  return gatewayCpuMs(pid) - startMs
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) / 1024
}
