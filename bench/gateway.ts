/**
 * P1 to P3: what a full call costs beside what others charge for less, or for the same.
 *
 * `contest.ts` says how it is measured. A contestant that is not installed is named and left out.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=4 BENCH_CONNECTIONS=32 node bench/gateway.ts
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describeLoad, hold, printSamples, ratioTo, type Starter } from './contest.ts'
import { describeMachine, versionOf } from './machine.ts'
import { startFastify } from './rivals/fastify.ts'
import { startHaproxy } from './rivals/haproxy.ts'
import { startNginx } from './rivals/nginx.ts'
import { toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'

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
describeLoad()

const samples = await hold({ starters: starters() })
printSamples(samples)
for (const { id, rival, target } of TARGETS) {
  const ratio = ratioTo(rival, samples)
  const text = ratio === null ? 'not measured' : `${toText(ratio, 2)}, target ≤ ${target}`
  console.log(`${id}  tollgate ÷ ${rival}: ${text}`)
}

function starters(): readonly Starter[] {
  const all: Starter[] = [startNginx]
  if (versionOf('haproxy', '-v') !== null) all.push(startHaproxy)
  if (fastifyInstalled) all.push(startFastify)
  if (process.env['BENCH_RIVALS_ONLY'] !== '1') all.push(({ backendPort }) => startTollgate(backendPort))
  return all
}
