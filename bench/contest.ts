/**
 * Contestants that run at once and are loaded in turn, round by round, so that a slow minute of the machine hits all of them; ratios
 * are made within a round. CPU is that of the process that serves (see `process-cpu.ts`), calls are those that wrk counted.
 */

import type { Contestant } from './contestant.ts'
import { load } from './load.ts'
import { versionOf } from './machine.ts'
import { spreadOf, toText, type Spread } from './spread.ts'
import { openWorkbench, type Workbench } from './workbench.ts'

interface Sample {
  readonly usPerCall: number
  readonly usPerCallWhole: number
  readonly callsPerSecond: number
  readonly p99Ms: number
}

/** Of each contestant one sample a round. */
export type Samples = ReadonlyMap<Contestant, readonly Sample[]>

export type Starter = (workbench: Workbench) => Promise<Contestant>

export interface Contest {
  readonly starters: readonly Starter[]
  /** Called once all contestants run, before any of them is loaded. */
  readonly check?: (contestants: readonly Contestant[]) => Promise<void>
}

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const WARM_UP_SECONDS = 3

/** Prints the load; ends the process where wrk or nginx is missing. */
export function describeLoad(): void {
  console.log(`load:    wrk, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s each\n`)
  if (versionOf('wrk', '--version; true') !== null && versionOf('nginx', '-v') !== null) return
  console.log('not run: wrk and nginx (as the backend) are needed; both are Debian packages')
  process.exit(1)
}

export async function hold({ starters, check }: Contest): Promise<Samples> {
  const workbench = await openWorkbench()
  const contestants: Contestant[] = []
  try {
    for (const start of starters) contestants.push(await start(workbench))
    await check?.(contestants)
    return await runRounds(contestants)
  } finally {
    for (const contestant of contestants) await contestant.stop()
    await workbench.close()
  }
}

async function runRounds(all: readonly Contestant[]): Promise<Samples> {
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

export function printSamples(samples: Samples): void {
  for (const [{ name, wholeCpuMs }, taken] of samples) {
    const text = (read: (sample: Sample) => number, digits: number) => toText(spreadOf(taken.map(read)), digits)
    console.log(name)
    console.log(`  CPU per call   ${text(({ usPerCall }) => usPerCall, 1)} µs`)
    if (wholeCpuMs) console.log(`  whole process  ${text(({ usPerCallWhole }) => usPerCallWhole, 1)} µs`)
    console.log(`  rate           ${text(({ callsPerSecond }) => callsPerSecond, 0)} calls/s`)
    console.log(`  latency p99    ${text(({ p99Ms }) => p99Ms, 2)} ms\n`)
  }
}

/** CPU per call of tollgate ÷ that of the contestant whose name starts with `rival`; null if one of them did not take part. */
export function ratioTo(rival: string, samples: Samples): Spread | null {
  const find = (word: string) => [...samples].find(([{ name }]) => name.startsWith(word))?.[1]
  const [ours, theirs] = [find('tollgate'), find(rival)]
  if (ours === undefined || theirs === undefined) return null
  return spreadOf(ours.map(({ usPerCall }, round) => usPerCall / (theirs[round]?.usPerCall ?? NaN)))
}
