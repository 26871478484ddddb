/** Interactive shells for pasted commands: with job control, and with the expansions of a terminal. */

import { spawn } from 'node:child_process'

export interface Shell {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  /** Of a test that runs the shell. */
  readonly tags: string[]
}

export const SHELLS: readonly Shell[] = [
  { name: 'bash', program: 'bash', args: ['--norc', '--noprofile', '-i'], tags: [] },
  { name: 'zsh', program: 'zsh', args: ['-f', '-i'], tags: ['zsh'] },
]

export interface Pasted {
  readonly out: string
  readonly err: string
}

/** Runs `script` in an interactive shell without a terminal. Background programs get no input, because they would read the script from the pipe. */
export function paste(shell: Shell, script: string, options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { cwd = process.cwd(), env = {} } = options
  const child = spawn(shell.program, [...shell.args, '-c', script], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PS1: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  return new Promise<Pasted>((resolve) => {
    child.on('close', () => resolve({ out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }))
  })
}
