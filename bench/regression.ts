/**
 * The CPU of a full call here ÷ at another commit, and that commit ÷ itself, so that the noise shows.
 *
 * Three services run at once, one of this checkout and two of the reference; they are loaded in turn, round by round. Each start
 * compiles the code anew, and differently, so that they are started several times. Others on the machine only ever add to the CPU of a
 * call: of the rounds of a start, the quartile that they disturbed least counts.
 *
 *   git worktree add /tmp/reference COMMIT && (cd /tmp/reference && npm ci)
 *   BENCH_STARTS=8 BENCH_ROUNDS=20 BENCH_SECONDS=1 node bench/regression.ts /tmp/reference
 *
 * With BENCH_HEADS=changing, no two requests or responses have the same headers. With BENCH_HEADS=close, each call has a connection
 * of its own.
 */

import { join, resolve } from 'node:path'
import type { Contestant } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { percentile, spreadOf, toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const STARTS = Number(process.env['BENCH_STARTS'] ?? 8)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 20)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 1)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const HEADS = process.env['BENCH_HEADS'] ?? 'repeated'
const WARM_UP_SECONDS = 5
const QUARTILE = 25
const NAMES = ['here', 'reference', 'reference again']

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder of the reference checkout')
const reference = (await import(join(resolve(folder), 'bench/subject/tollgate.ts'))) as {
  startTollgate: typeof startTollgate
}

console.log(`machine: ${describeMachine()}`)
console.log(
  `load:    wrk, ${CONNECTIONS} connections, ${STARTS} starts, ${ROUNDS} rounds of ${SECONDS} s each, ${HEADS} heads\n`,
)

const script = HEADS === 'changing' ? join(import.meta.dirname, 'changing-heads.lua') : null
// In the settings of the backend.
const locations = (): string => (script === null ? '' : 'add_header X-Number $request_id;')
const headers = HEADS === 'close' ? ['Connection: close'] : []
const workbench = await openWorkbench({ locations })
const starts: (readonly number[])[] = []
try {
  for (let start = 0; start < STARTS; start++) {
    starts.push(await quartiles(start))
    console.log(
      `start ${start + 1}: ${starts
        .at(-1)!
        .map((us) => us.toFixed(2))
        .join('  ')} µs of CPU a call`,
    )
  }
} finally {
  await workbench.close()
}
NAMES.forEach((name, index) => {
  console.log(`${name.padEnd(16)} ${toText(spreadOf(starts.map((taken) => taken[index]!)), 1)} µs of CPU a call`)
})
console.log(`here ÷ reference:            ${toText(spreadOf(starts.map(([now, then]) => now! / then!)), 3)}`)
console.log(`reference again ÷ reference: ${toText(spreadOf(starts.map(([, then, again]) => again! / then!)), 3)}`)

/** Returns the lower quartile of each of the three in one start. The first to start, and to be loaded, changes from start to start. */
async function quartiles(start: number): Promise<readonly number[]> {
  const contestants = new Map<number, Contestant>()
  const order = [0, 1, 2].map((index) => (index + start) % 3)
  try {
    for (const index of order) {
      const { startTollgate: run } = index === 0 ? { startTollgate } : reference
      contestants.set(index, await run(workbench.backendPort))
    }
    for (const contestant of contestants.values()) await usPerCall(contestant, WARM_UP_SECONDS)
    const taken: number[][] = [[], [], []]
    for (let round = 0; round < ROUNDS; round++) {
      for (const index of round % 2 === 0 ? order : order.toReversed()) {
        taken[index]!.push(await usPerCall(contestants.get(index)!, SECONDS))
      }
    }
    return taken.map((samples) =>
      percentile(
        samples.toSorted((a, b) => a - b),
        QUARTILE,
      ),
    )
  } finally {
    for (const contestant of contestants.values()) await contestant.stop()
  }
}

async function usPerCall({ url, token, cpuMs }: Contestant, seconds: number): Promise<number> {
  const startMs = cpuMs()
  const { calls, failed } = await load({
    url,
    token,
    connections: CONNECTIONS,
    seconds,
    headers,
    ...(script !== null && { script }),
  })
  if (failed > 0 || calls === 0) throw new Error(`${failed} of ${calls} calls failed`)
  return ((cpuMs() - startMs) * 1000) / calls
}
