/** Starts of the service that are expected to be refused, with the permissions of an ordinary user. */

import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { MAIN } from '../fixtures/entry-points.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const STARTS = join(import.meta.dirname, 'refused-starts-process.ts')
const AS_USER = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []

export interface Refusal {
  readonly code: number | null
  readonly lines: readonly string[]
}

const settingsFor = (dataDir: string, env: Readonly<Record<string, string>>): Record<string, string> => ({
  DATA_DIR: dataDir,
  GATEWAY_PORT: '0',
  PLATFORM_PORT: '0',
  LOG_LEVEL: 'fatal',
  ...env,
})

/** As a process of its own. */
export function start(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Refusal> {
  const command = [...AS_USER, process.execPath, MAIN, '--empty']
  const child = spawn(command[0]!, command.slice(1), {
    env: { ...PLAIN_ENVIRONMENT, ...settingsFor(dataDir, env) },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, lines: text.trim().split('\n') })))
}

let starts: { readonly process: ChildProcess; readonly answers: AsyncIterator<string> } | null = null

export function endStarts(): void {
  starts?.process.kill('SIGKILL')
  starts = null
}

/** In a process that all starts share; what the store refuses needs one of its own. */
export async function tryStart(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Refusal> {
  if (starts === null) {
    const command = [...AS_USER, process.execPath, STARTS]
    const child = spawn(command[0]!, command.slice(1), { env: PLAIN_ENVIRONMENT, stdio: ['pipe', 'pipe', 'ignore'] })
    starts = { process: child, answers: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  }
  starts.process.stdin!.write(`${JSON.stringify(settingsFor(dataDir, env))}\n`)
  const { value, done } = await starts.answers.next()
  if (done === true) throw new Error('the process that starts the service has ended')
  return JSON.parse(value as string) as Refusal
}
