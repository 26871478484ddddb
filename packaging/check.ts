/**
 * `npm run check`: types, lint, unused code and format, as many at a time as there are processors. Prints what fails, and ends with 1
 * then. Warns of test files that use more CPU than their budget.
 */

import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { excessOfLastRun } from '../test/runner/cpu-budget.ts'

/** Scripts of `package.json`, the longest ones first. */
const CHECKS = ['types', 'lint', 'types-of-console', 'unused', 'format']

const waiting = [...CHECKS]
await Promise.all(Array.from({ length: availableParallelism() }, runNext))
for (const line of excessOfLastRun()) console.log(`warning: ${line}`)

async function runNext(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    const { code, output } = await run(check)
    if (code === 0) continue
    console.log(`check:${check}\n${output}`)
    process.exitCode = 1
  }
}

function run(check: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('npm', ['run', '--silent', `check:${check}`], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
