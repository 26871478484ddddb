/** Runs workloads under strace, one after another on one folder, and records their changes of its files. */

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRecording, TRACED, type Recording } from './recording.ts'
import type { WorkloadOptions } from './workload.ts'

const WORKLOAD = join(import.meta.dirname, 'workload.ts')

/** `root` is the parent of the data folder: entries of the data folder itself may be lost too. */
export async function record(root: string, workloads: readonly WorkloadOptions[]): Promise<Recording> {
  const recording = createRecording(root)
  for (const workload of workloads) recording.addTrace(await trace(workload))
  return recording
}

async function trace(workload: WorkloadOptions): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'trace-'))
  const output = join(folder, 'trace')
  try {
    await run(
      ['strace', '-f', '-qq', '--seccomp-bpf', '-xx', '-s', '100000000', '-e', 'signal=none'],
      ['-e', `trace=${TRACED.join(',')}`, '-o', output],
      [process.execPath, WORKLOAD, JSON.stringify(workload)],
      workload.isKilled,
    )
    return readFileSync(output, 'latin1')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(strace: string[], options: string[], command: string[], isKilled: boolean): Promise<void> {
  const [program, ...args] = [...strace, ...options, ...command]
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(program!, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Every change of a file is one system call, and asynchronous ones run in order.
    env: { ...process.env, NODE_OPTIONS: '', UV_USE_IO_URING: '0', UV_THREADPOOL_SIZE: '1' },
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8')))
  child.on('error', (cause) => reject(new Error('strace cannot be run; install the package strace', { cause })))
  child.on('close', (code, signal) => {
    if (isKilled ? signal === 'SIGKILL' : code === 0) resolve()
    else reject(new Error(`the workload ended with ${signal ?? code}: ${errors}`))
  })
  return promise
}
