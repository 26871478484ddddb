/**
 * P4: the latency that the gateway adds at half of its maximum rate.
 *
 * Finds the maximum over 32 connections. Then calls arrive at half of it, in turn through tollgate, through an nginx
 * that merely proxies, and directly at the backend. Differences to the backend are made within a round; that of nginx
 * shows how much of them is the machine.
 *
 * wrk ends its pauses in steps of 1 ms, so that a dozen calls start together and the last of them waits for the
 * others. A connection waits for its answer before it calls again, so that a stall delays fewer calls than it would
 * among independent clients.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=4 BENCH_SHARE=0.5 node bench/added-latency.ts
 */

import { BENCH_PATH } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { runPaced, type PacedResult } from './paced-load.ts'
import { startNginx } from './rivals/nginx.ts'
import { spreadOf, type Spread } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

type Name = 'tollgate' | 'nginx' | 'backend'
type Round = Readonly<Record<Name, PacedResult>>

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const SHARE = Number(process.env['BENCH_SHARE'] ?? 0.5)
const CONNECTIONS = 32
const WARM_UP_SECONDS = 5
const ADDED_MS_MAX = 1

console.log(`machine: ${describeMachine()}`)
const workbench = await openWorkbench()
const tollgate = await startTollgate(workbench.backendPort)
const nginx = await startNginx(workbench)
const { url, token } = tollgate
try {
  await load({ url, token, connections: CONNECTIONS, seconds: WARM_UP_SECONDS })
  const { callsPerSecond: maximum } = await load({ url, token, connections: CONNECTIONS, seconds: SECONDS })
  console.log(`maximum: ${maximum.toFixed(0)} calls/s through tollgate over ${CONNECTIONS} connections`)
  console.log(`load:    ${SHARE} of it, ${ROUNDS} rounds of ${SECONDS} s each; median (min – max)\n`)

  const take = (target: string) =>
    runPaced({ token, callsPerSecond: maximum * SHARE, seconds: SECONDS, url: new URL(BENCH_PATH, target).href })
  const backendUrl = `http://127.0.0.1:${workbench.backendPort}`
  await take(url)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const taken = { tollgate: await take(url), nginx: await take(nginx.url), backend: await take(backendUrl) }
    console.error(`raw ${JSON.stringify(taken)}`)
    rounds.push(taken)
  }
  report(rounds)
} finally {
  await nginx.stop()
  await tollgate.stop()
  await workbench.close()
}

function report(rounds: readonly Round[]): void {
  const of = (read: (round: Round) => number): Spread => spreadOf(rounds.map(read))
  console.log('| | p50, ms | p99, ms | added to p50, ms | added to p99, ms | calls/s reached | failed |')
  console.log(`|${' --- |'.repeat(7)}`)
  for (const name of ['tollgate', 'nginx', 'backend'] as const) {
    const cells = [
      name === 'backend' ? 'directly at the backend' : `through ${name}`,
      toText(of((round) => round[name].p50Ms)),
      toText(of((round) => round[name].p99Ms)),
      name === 'backend' ? '' : toText(of((round) => round[name].p50Ms - round.backend.p50Ms)),
      name === 'backend' ? '' : toText(of((round) => round[name].p99Ms - round.backend.p99Ms)),
      of((round) => round[name].callsPerSecond).median.toFixed(0),
      rounds.reduce((sum, round) => sum + round[name].failed, 0),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
  const added = of(({ tollgate: through, backend }) => through.p99Ms - backend.p99Ms).median
  console.log(`\nP4  added p99 ${added.toFixed(2)} ms, target ≤ ${ADDED_MS_MAX}`)
}

function toText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)} – ${max.toFixed(2)})`
}
