/** `tollgate demo`: the demo in a process of its own, which ends with its last screen at Ctrl-C. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { EXIT_TROUBLE } from '../exit-codes.ts'

const DEMO = join(import.meta.dirname, '../demo.ts')

export async function runDemo(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [DEMO, ...args], { stdio: 'inherit' })
  // Ctrl-C reaches both processes; the demo decides when it ends.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? EXIT_TROUBLE))
  })
}
