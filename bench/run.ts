/**
 * `npm run bench`: every bench in turn, each in a process of its own. Prints and keeps nothing: numbers
 * enter `RESULTS.md` by hand, with the machine they were measured on.
 *
 * Names on the command line choose: `node bench/run.ts gateway micro`.
 */

import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'

const WHOLE = [
  'gateway',
  'mcp',
  'identity',
  'catalogue',
  'large-document',
  'sse-delay',
  'pipeline',
  'webhooks',
  'console',
]

const chosen = process.argv.slice(2)
const files = [
  ...globSync(`{${WHOLE.join(',')}}.ts`, { cwd: import.meta.dirname }),
  ...globSync('micro/*.ts', { cwd: import.meta.dirname }),
].filter(
  (file) => chosen.length === 0 || chosen.some((name) => file.startsWith(name) || basename(file, '.ts') === name),
)

const failed = files.filter((file) => {
  console.log(`\n── ${file} ${'─'.repeat(Math.max(0, 70 - file.length))}`)
  return spawnSync(process.execPath, [join(import.meta.dirname, file)], { stdio: 'inherit' }).status !== 0
})
if (failed.length > 0) console.log(`\nfailed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
