/**
 * The CPU of the whole process, and the time, from `node src/main.ts --empty` until `/readyz` answers: on a new folder and on one that
 * exists. With the folder of another checkout, the two start in turn.
 *
 *   node bench/start.ts                                                           # ROUNDS=10
 *   git worktree add /tmp/reference COMMIT && (cd /tmp/reference && npm ci)
 *   node bench/start.ts /tmp/reference
 *
 * `NODE_COMPILE_CACHE` is not set, as for a user who runs this command; the first start of each, which may compile the modules, does
 * not count.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../src/interfaces/cli/free-port.ts'
import { describeMachine } from './machine.ts'
import { processCpuMs } from './process-cpu.ts'
import { spreadOf, toText } from './spread.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 10)
const POLL_MS = 10

interface Start {
  readonly cpuSeconds: number
  readonly seconds: number
}

const checkouts = [join(import.meta.dirname, '..'), ...process.argv.slice(2).map((folder) => resolve(folder))]
console.log(`machine: ${describeMachine()}\n`)

for (const checkout of checkouts) await measureBoth(checkout)
const rounds: (readonly (readonly [Start, Start])[])[] = []
for (let round = 0; round < ROUNDS; round++) {
  const row: (readonly [Start, Start])[] = []
  for (const checkout of checkouts) row.push(await measureBoth(checkout))
  rounds.push(row)
}
for (const [index, checkout] of checkouts.entries()) {
  for (const [which, name] of ['new folder', 'existing folder'].entries()) {
    const starts = rounds.map((row) => row[index]![which]!)
    const cpu = toText(spreadOf(starts.map(({ cpuSeconds }) => cpuSeconds)), 2)
    const wall = toText(spreadOf(starts.map(({ seconds }) => seconds)), 2)
    console.log(`${checkout}, ${name}: ${cpu} s of CPU, ready after ${wall} s`)
  }
}

async function measureBoth(checkout: string): Promise<readonly [Start, Start]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-start-'))
  try {
    return [await measure(checkout, dataDir), await measure(checkout, dataDir)]
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measure(checkout: string, dataDir: string): Promise<Start> {
  const [gatewayPort, platformPort] = await Promise.all([freePort(), freePort()])
  const ports = ['--gateway-port', String(gatewayPort), '--platform-port', String(platformPort)]
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const beginMs = performance.now()
  const args = [join(checkout, 'src/main.ts'), '--empty', '--data-dir', dataDir, ...ports]
  const child = spawn(join(checkout, 'node_modules/node/bin/node'), args, { cwd: checkout, env, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  while (!(await isReady(`http://127.0.0.1:${platformPort}/readyz`))) {
    if (child.exitCode !== null) throw new Error(`the service of ${checkout} ended with ${child.exitCode}`)
    await pause(POLL_MS)
  }
  const start = { cpuSeconds: processCpuMs(child.pid ?? 0) / 1_000, seconds: (performance.now() - beginMs) / 1_000 }
  child.kill('SIGTERM')
  await ended
  return start
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
