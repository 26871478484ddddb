/**
 * Makes system calls of a running process fail, with `strace`: the call is not made and returns the error.
 *
 * `strace` attaches to the process and lets go of it again, so the same process is seen to recover. Only root may attach on every
 * machine: tests have the tags `strace` and `root`.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Faults {
  readonly calls: readonly ('pwrite64' | 'write' | 'fsync' | 'fdatasync' | 'ftruncate' | 'mkdir')[]
  readonly error: 'EIO' | 'ENOSPC'
  /** Files whose calls fail; none: all calls of these names. */
  readonly paths?: readonly string[]
}

export interface InjectedFaults {
  /** How many calls have failed so far. */
  count(): number
  /** Lets go of the process; resolves with the number of calls that failed. */
  stop(): Promise<number>
}

/** Resolves when the calls of `pid` fail. */
export async function injectFaults(pid: number, { calls, error, paths = [] }: Faults): Promise<InjectedFaults> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-strace-'))
  const output = join(folder, 'calls')
  const names = calls.join(',')
  const filters = paths.flatMap((path) => ['-P', path])
  const args = [
    ...['-f', '-p', String(pid), '-o', output, '-e', `trace=${names}`, '-e', `inject=${names}:error=${error}`],
    ...filters,
  ]
  const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(strace, 'exit')
  await attached(strace.stderr)

  const count = (): number => readFileSync(output, 'latin1').split('(INJECTED)').length - 1
  return {
    count,
    async stop() {
      strace.kill('SIGINT')
      await exited
      const injected = count()
      rmSync(folder, { recursive: true, force: true })
      return injected
    },
  }
}

/** `strace` says so for each process that it attaches to. */
function attached(stderr: NodeJS.ReadableStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.includes(' attached')) resolve()
  })
  stderr.once('close', () => reject(new Error(`strace could not attach: ${text}`)))
  return promise
}
