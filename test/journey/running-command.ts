/** `tollgate <command>` as a separate process whose output can be read while it runs. */

import { spawn } from 'node:child_process'
import { CLI } from '../fixtures/entry-points.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const MS_MAX = 120_000

export interface RunningCommand {
  /** Resolves with the first match in the output so far, on stdout and stderr. */
  match(pattern: RegExp): Promise<RegExpExecArray>
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>
}

export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>
  readonly input?: string
  readonly cwd?: string
}

export function runCommand(args: readonly string[], { env, input = '', cwd }: CommandOptions): RunningCommand {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...PLAIN_ENVIRONMENT, ...env },
    ...(cwd !== undefined && { cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: MS_MAX,
    killSignal: 'SIGKILL',
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  let out = ''
  let err = ''
  const listeners = new Set<() => void>()
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    for (const listener of listeners) listener()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
    for (const listener of listeners) listener()
  })
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, out, err })),
  )
  return {
    match(pattern) {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
      const look = (): void => {
        const found = pattern.exec(out) ?? pattern.exec(err)
        if (found !== null) resolve(found)
      }
      listeners.add(look)
      look()
      void ended.then(() => reject(new Error(`the command ended without ${pattern}\n${out}\n${err}`)))
      return promise.finally(() => listeners.delete(look))
    },
    signal: (name) => void child.kill(name),
    ended,
  }
}
