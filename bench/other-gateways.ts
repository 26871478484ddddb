/**
 * What a full call costs beside gateways that users would choose instead.
 *
 * nginx and Caddy merely proxy; fast-gateway and express-gateway verify the ES256 token and limit the rate. `contest.ts` says how it is
 * measured. A contestant that is not installed is named and left out; `rivals/express-gateway.ts` says how to install that one.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=4 EXPRESS_GATEWAY=/tmp/eg node bench/other-gateways.ts
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeLoad, hold, printSamples, ratioTo, type Starter } from './contest.ts'
import type { Contestant } from './contestant.ts'
import { describeMachine, versionOf } from './machine.ts'
import { startCaddy } from './rivals/caddy.ts'
import { startExpressGateway } from './rivals/express-gateway.ts'
import { startFastGateway } from './rivals/fast-gateway.ts'
import { startNginx } from './rivals/nginx.ts'
import { toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'

const RIVALS = [
  'nginx',
  'Caddy',
  'fast-gateway',
  'express-gateway, limit by address',
  'express-gateway, limit by client',
]

const expressGatewayFolder = process.env['EXPRESS_GATEWAY'] ?? ''
const installed = {
  caddy: versionOf('caddy', 'version'),
  fastGateway: packageVersion(import.meta.dirname, 'fast-gateway'),
  expressGateway: expressGatewayFolder === '' ? null : packageVersion(expressGatewayFolder, 'express-gateway'),
}

console.log(`machine: ${describeMachine()}`)
console.log(`nginx:   ${versionOf('nginx', '-v') ?? 'not installed'}`)
console.log(`caddy:   ${installed.caddy ?? 'not installed'}`)
console.log(`fast-gateway:    ${installed.fastGateway ?? 'not installed (npm ci --prefix bench)'}`)
console.log(
  `express-gateway: ${installed.expressGateway ?? 'not installed (EXPRESS_GATEWAY names no folder that has it)'}`,
)
describeLoad()

const samples = await hold({ starters: starters(), check: printAnswers })
printSamples(samples)
for (const rival of RIVALS) {
  const ratio = ratioTo(rival, samples)
  console.log(`tollgate ÷ ${rival}: ${ratio === null ? 'not measured' : toText(ratio, 3)}`)
}

function starters(): readonly Starter[] {
  const all: Starter[] = [startNginx]
  if (installed.caddy !== null) all.push(startCaddy)
  if (installed.fastGateway !== null) all.push(startFastGateway)
  if (installed.expressGateway !== null) {
    all.push((workbench) => startExpressGateway(workbench, expressGatewayFolder, 'address'))
    all.push((workbench) => startExpressGateway(workbench, expressGatewayFolder, 'client'))
  }
  all.push(({ backendPort }) => startTollgate(backendPort))
  return all
}

/** Prints the statuses of a call with the token, with a changed token and without one. */
async function printAnswers(contestants: readonly Contestant[]): Promise<void> {
  for (const { name, url, token } of contestants) {
    const status = async (headers: Record<string, string>) => (await fetch(url, { headers })).status
    const valid = await status({ authorization: `Bearer ${token}` })
    const changed = await status({ authorization: `Bearer ${withOtherSignature(token)}` })
    console.log(`${name}: ${valid} with the token, ${changed} with a changed one, ${await status({})} without`)
    if (valid !== 200) throw new Error(`${name} answered ${valid} to a call with its token`)
  }
  console.log('')
}

function withOtherSignature(token: string): string {
  const start = token.lastIndexOf('.') + 1
  return token.slice(0, start) + (token[start] === 'A' ? 'B' : 'A') + token.slice(start + 1)
}

function packageVersion(folder: string, name: string): string | null {
  const path = join(folder, 'node_modules', name, 'package.json')
  if (!existsSync(path)) return null
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string }
  return version
}
