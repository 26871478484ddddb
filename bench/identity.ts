/**
 * What identity costs: the first call of a token beside its later ones, and what known callers feel of
 * a flood of forged tokens.
 *
 * First use: every token of a set is called once, then once more, in turn; the difference in CPU of the
 * gateway thread is what verifying it cost (signature, claims, seat). Flood: known callers at a steady
 * pace, alone, beside 2,000 more calls of known callers a second, and beside 2,000 tokens a second that
 * look right in all but the signature; ratios are made within a round.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=8 node bench/identity.ts
 */

import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import { fetchToken } from '../src/interfaces/cli/platform-client.ts'
import { BENCH_PATH } from './contestant.ts'
import { describeMachine } from './machine.ts'
import { runPaced, type PacedLoadOptions } from './paced-load.ts'
import { gatewayCpuMs, startSubject, type Subject } from './subject/tollgate.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { spreadOf, toText } from './spread.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const TOKENS = 4_000
const KNOWN_PER_SECOND = 1_000
const FLOOD_PER_SECOND = 2_000
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
  const url = service.gatewayUrl + BENCH_PATH
  const known = { url, token: enrolment.token, callsPerSecond: KNOWN_PER_SECOND, seconds: SECONDS }
  const more = { ...known, callsPerSecond: FLOOD_PER_SECOND }
  const samples = { quiet: [] as number[], honest: [] as number[], forged: [] as number[] }
  const memory: number[] = []
  await beside(known, more)
  for (let round = 0; round < ROUNDS; round++) {
    samples.quiet.push((await runPaced(known)).p99Ms)
    samples.honest.push((await beside(known, more)).known.p99Ms)
    const { known: one, other } = await beside(known, { ...more, token: forge(enrolment.token) })
    if (one.failed > 0 || other.failed !== other.calls)
      throw new Error('a good token was refused, or a forged one served')
    samples.forged.push(one.p99Ms)
    memory.push(residentMiB(service.pid))
    console.log(`  round ${round + 1}: ${other.callsPerSecond.toFixed(0)} forged tokens a second`)
  }
  const { quiet, honest, forged } = samples
  console.log(`known callers, p99, alone:                 ${toText(spreadOf(quiet), 2)} ms`)
  console.log(`known callers, p99, beside as many known:  ${toText(spreadOf(honest), 2)} ms`)
  console.log(`known callers, p99, beside forged tokens:  ${toText(spreadOf(forged), 2)} ms`)
  console.log(`forged ÷ alone: ${toText(spreadOf(forged.map((ms, at) => ms / quiet[at]!)), 2)}, target ≤ 2`)
  console.log(`forged ÷ known: ${toText(spreadOf(forged.map((ms, at) => ms / honest[at]!)), 2)}`)
  console.log(`resident after each flood: ${memory.map((mib) => mib.toFixed(0)).join(', ')} MiB`)
}

async function beside(known: PacedLoadOptions, more: PacedLoadOptions) {
  const [one, other] = await Promise.all([runPaced(known), runPaced(more)])
  return { known: one, other }
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
