/**
 * The CPU of a full call here ÷ at another commit, and that commit ÷ itself, so that the noise shows.
 *
 * Three services run at once, one of this checkout and two of the reference; they are loaded in turn,
 * round by round, and ratios are made within a round.
 *
 *   git worktree add /tmp/reference COMMIT && (cd /tmp/reference && npm ci)
 *   BENCH_ROUNDS=12 BENCH_SECONDS=3 node bench/regression.ts /tmp/reference
 */

import { join, resolve } from 'node:path'
import type { Contestant } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 12)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 3)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const WARM_UP_SECONDS = 4

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder of the reference checkout')
const reference = (await import(join(resolve(folder), 'bench/subject/tollgate.ts'))) as {
  startTollgate: typeof startTollgate
}

console.log(`machine: ${describeMachine()}`)
console.log(`load:    wrk, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s each\n`)

const workbench = await openWorkbench()
const contestants: Contestant[] = []
try {
  for (const start of [startTollgate, reference.startTollgate, reference.startTollgate]) {
    contestants.push(await start(workbench.backendPort))
  }
  for (const contestant of contestants) await usPerCall(contestant, WARM_UP_SECONDS)
  const rounds: number[][] = []
  for (let round = 0; round < ROUNDS; round++) {
    const taken = contestants.map(() => NaN)
    const order = [...contestants.keys()]
    for (const index of round % 2 === 0 ? order : order.toReversed()) {
      taken[index] = await usPerCall(contestants[index]!, SECONDS)
    }
    rounds.push(taken)
  }
  const names = ['here', 'reference', 'reference again']
  names.forEach((name, index) => {
    console.log(`${name.padEnd(16)} ${toText(spreadOf(rounds.map((taken) => taken[index]!)), 1)} µs of CPU a call`)
  })
  console.log(`here ÷ reference:            ${toText(spreadOf(rounds.map(([now, then]) => now! / then!)), 3)}`)
  console.log(`reference again ÷ reference: ${toText(spreadOf(rounds.map(([, then, again]) => again! / then!)), 3)}`)
} finally {
  for (const contestant of contestants) await contestant.stop()
  await workbench.close()
}

async function usPerCall({ url, token, cpuMs }: Contestant, seconds: number): Promise<number> {
  const startMs = cpuMs()
  const { calls, failed } = await load({ url, token, connections: CONNECTIONS, seconds })
  if (failed > 0 || calls === 0) throw new Error(`${failed} of ${calls} calls failed`)
  return ((cpuMs() - startMs) * 1000) / calls
}
