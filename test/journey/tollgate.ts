/** Runs `tollgate <command>` as a separate process. */

import { spawn } from 'node:child_process'
import { CLI } from '../fixtures/entry-points.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export function tollgate(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...PLAIN_ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 240_000,
    killSignal: 'SIGKILL',
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}
