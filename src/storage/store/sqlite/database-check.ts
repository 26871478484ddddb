/**
 * Checks large database files in a worker thread while the service starts.
 *
 * A gigabyte takes about ten seconds of one core. The thread only reads, so it does not block writers.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CHECKED_AT_OPEN_BYTES_MAX } from './open-database.ts'

export interface CheckOptions {
  readonly dataDir: string
  /** Called with a sentence that names the file and the remedy. */
  readonly onDamaged: (sentence: string) => void
  /** Called if the check itself failed: the state of the files is unknown. */
  readonly onFailed: (cause: unknown) => void
  readonly bytesMin?: number
}

const FILES = ['registry', 'checkpoint'] as const
export type CheckedFile = (typeof FILES)[number]

/** Returns a function that stops the check. */
export function checkLargeFiles(options: CheckOptions): () => Promise<void> {
  const { dataDir, onDamaged, onFailed, bytesMin = CHECKED_AT_OPEN_BYTES_MAX } = options
  const files = FILES.filter((file) => sizeOf(join(dataDir, `${file}.db`)) > bytesMin)
  if (files.length === 0) return async () => {}
  const worker = new Worker(new URL('./database-check-thread.ts', import.meta.url), { workerData: { dataDir, files } })
  worker.on('message', onDamaged)
  worker.on('error', onFailed)
  worker.unref()
  return async () => void (await worker.terminate())
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
