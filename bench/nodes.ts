/**
 * `npm run nodes`: what several nodes promise (N2 to N6 and N9), in the long form, one after the other; prints a table at the end.
 *
 *   node bench/nodes.ts N4 N9
 */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { loadavg } from 'node:os'
import { describeMachine } from './machine.ts'

interface Measure {
  readonly names: readonly string[]
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const journey = (file: string): readonly string[] => [
  'npx',
  'vitest',
  'run',
  '--project',
  'journey',
  `test/journey/${file}.test.ts`,
]
const MEASURES: readonly Measure[] = [
  { names: ['N1', 'N2'], command: journey('chaos'), env: { CHAOS_SECONDS: '600' } },
  { names: ['N3', 'N4'], command: journey('nodes-commands'), env: { ACTIVATIONS: '200', REVOCATIONS: '1000' } },
  { names: ['N5'], command: journey('nodes-quotas'), env: { ACTIVE_SECONDS: '60', OUTAGE_SECONDS: '300' } },
  { names: ['N6'], command: journey('nodes-risk'), env: { KILLS: '100' } },
  { names: ['N6'], command: ['node', join(import.meta.dirname, 'nodes-delay.ts')], env: {} },
  { names: ['N9'], command: ['node', join(import.meta.dirname, 'join.ts')], env: {} },
]

const chosen = process.argv.slice(2)
const rows: string[] = []
for (const { names, command, env } of MEASURES) {
  if (chosen.length > 0 && !names.some((name) => chosen.includes(name))) continue
  const [program = '', ...args] = command
  const { status, stdout } = spawnSync(program, args, {
    // A journey prints the seed that repeats it.
    env: { SEED: 'random', ...process.env, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  console.log(stdout)
  const found = stdout.split('\n').filter((line) => /^N\d {2}/.test(line))
  rows.push(...found)
  if (status !== 0) {
    rows.push(`${names.join(', ')}  FAILED`)
    process.exitCode = 1
  }
}
console.log(`\nmachine: ${describeMachine()}; load average at the end ${loadavg()[0]!.toFixed(1)}`)
for (const row of rows) console.log(row)
