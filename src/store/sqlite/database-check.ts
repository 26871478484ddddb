/**
 * Checks database files that are too large to be checked before they are used, in a thread of its own beside the start.
 *
 * A gigabyte takes some ten seconds of one core. The thread reads; it holds back no writer.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CHECKED_AT_ONCE_BYTES } from './open-database.ts'

export interface CheckOptions {
  readonly dataDir: string
  /** Called with a sentence that names the file and the remedy. */
  readonly onDamaged: (sentence: string) => void
  /** The check did not end; nothing is known to be damaged. */
  readonly onFailed: (cause: unknown) => void
  readonly bytesMin?: number
}

const FILES = ['registry', 'checkpoint'] as const
export type CheckedFile = (typeof FILES)[number]

/** Returns how to stop. */
export function checkLargeFiles(options: CheckOptions): () => Promise<void> {
  const { dataDir, onDamaged, onFailed, bytesMin = CHECKED_AT_ONCE_BYTES } = options
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
