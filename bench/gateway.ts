/**
 * P1 to P3: what a full call costs beside what others charge for less, or for the same.
 *
 * All contestants run at once and are loaded in turn, round by round, so that a slow minute of the
 * machine hits all of them; ratios are made within a round. CPU is that of the process that serves
 * (see `process-cpu.ts`), calls are those that wrk counted. A contestant that is not installed is
 * named and left out.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=4 BENCH_CONNECTIONS=32 node bench/gateway.ts
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Contestant } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine, versionOf } from './machine.ts'
import { startFastify } from './rivals/fastify.ts'
import { startHaproxy } from './rivals/haproxy.ts'
import { startNginx } from './rivals/nginx.ts'
import { spreadOf, toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench, type Workbench } from './workbench.ts'

interface Sample {
  readonly usPerCall: number
  readonly usPerCallWhole: number
  readonly callsPerSecond: number
  readonly p99Ms: number
}

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const WARM_UP_SECONDS = 3

const TARGETS = [
  { id: 'P1', rival: 'nginx', target: 1.6 },
  { id: 'P2', rival: 'HAProxy', target: 0.3 },
  { id: 'P3', rival: 'fastify', target: 0.45 },
] as const

const fastifyInstalled = existsSync(join(import.meta.dirname, 'node_modules/@fastify/http-proxy'))

console.log(`machine: ${describeMachine()}`)
console.log(`nginx:   ${versionOf('nginx', '-v') ?? 'not installed'}`)
console.log(`haproxy: ${versionOf('haproxy', '-v') ?? 'not installed'}`)
console.log(`fastify: ${fastifyInstalled ? 'bench/package-lock.json' : 'not installed (npm ci --prefix bench)'}`)
console.log(`load:    wrk, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s each\n`)

if (versionOf('wrk', '--version; true') === null || versionOf('nginx', '-v') === null) {
  console.log('not run: wrk and nginx (as the backend) are needed; both are Debian packages')
  process.exit(1)
}

const workbench = await openWorkbench()
const contestants: Contestant[] = []
try {
  for (const start of starters(workbench)) contestants.push(await start())
  report(await runRounds(contestants))
} finally {
  for (const contestant of contestants) await contestant.stop()
  await workbench.close()
}

function starters(workbench: Workbench): (() => Promise<Contestant>)[] {
  const all = [() => startNginx(workbench)]
  if (versionOf('haproxy', '-v') !== null) all.push(() => startHaproxy(workbench))
  if (fastifyInstalled) all.push(() => startFastify(workbench))
  if (process.env['BENCH_RIVALS_ONLY'] !== '1') all.push(() => startTollgate(workbench.backendPort))
  return all
}

async function runRounds(all: readonly Contestant[]): Promise<Map<Contestant, Sample[]>> {
  const samples = new Map<Contestant, Sample[]>(all.map((contestant) => [contestant, []]))
  for (const contestant of all) await take(contestant, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? all : all.toReversed()
    for (const contestant of order) samples.get(contestant)?.push(await take(contestant, SECONDS))
  }
  return samples
}

async function take(contestant: Contestant, seconds: number): Promise<Sample> {
  const [startMs, wholeStartMs] = [contestant.cpuMs(), contestant.wholeCpuMs?.() ?? NaN]
  const { url, token } = contestant
  const { calls, callsPerSecond, failed, p99Ms } = await load({ url, token, connections: CONNECTIONS, seconds })
  if (failed > 0 || calls === 0) throw new Error(`${contestant.name}: ${failed} of ${calls} calls failed`)

  const usPerCall = ((contestant.cpuMs() - startMs) * 1000) / calls
  const usPerCallWhole = (((contestant.wholeCpuMs?.() ?? NaN) - wholeStartMs) * 1000) / calls
  return { usPerCall, usPerCallWhole, callsPerSecond, p99Ms }
}

function report(samples: ReadonlyMap<Contestant, readonly Sample[]>): void {
  for (const [{ name, wholeCpuMs }, taken] of samples) {
    const spread = (read: (sample: Sample) => number) => spreadOf(taken.map(read))
    console.log(name)
    console.log(
      `  CPU per call   ${toText(
        spread(({ usPerCall }) => usPerCall),
        1,
      )} µs`,
    )
    if (wholeCpuMs)
      console.log(
        `  whole process  ${toText(
          spread(({ usPerCallWhole }) => usPerCallWhole),
          1,
        )} µs`,
      )
    console.log(
      `  rate           ${toText(
        spread(({ callsPerSecond }) => callsPerSecond),
        0,
      )} calls/s`,
    )
    console.log(
      `  latency p99    ${toText(
        spread(({ p99Ms }) => p99Ms),
        2,
      )} ms\n`,
    )
  }

  const find = (word: string) => [...samples].find(([{ name }]) => name.startsWith(word))?.[1]
  const ours = find('tollgate')
  for (const { id, rival, target } of TARGETS) {
    const theirs = find(rival)
    if (ours === undefined || theirs === undefined) {
      console.log(`${id}  tollgate ÷ ${rival}: not measured`)
      continue
    }
    const ratios = spreadOf(ours.map(({ usPerCall }, round) => usPerCall / (theirs[round]?.usPerCall ?? NaN)))
    console.log(`${id}  tollgate ÷ ${rival}: ${toText(ratios, 2)}, target ≤ ${target}`)
  }
}
