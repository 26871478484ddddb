/**
 * Write errors of all spool writers in shared memory, for the thread that answers `/readyz`.
 *
 * Each writer has one 32-bit word: the error number of the operating system, or 0 while the writer accepts records.
 */

import { getSystemErrorMessage, getSystemErrorName } from 'node:util'

export interface SpoolFaults {
  /** Stores the error of a writer; `null`: the writer accepts records again. */
  note(writer: number, cause: unknown): void
  /** Errors of all writers that refuse records, such as `ENOSPC: no space left on device`; null if none refuses. */
  readonly reason: string | null
  /** The error of one writer; null while it accepts records. */
  reasonOf(writer: number): string | null
}

/** Stands for an error without a system error number. */
const UNKNOWN = 0x7fff_ffff

export function createSpoolFaultsMemory(writers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * writers)
}

export function openSpoolFaults(memory: SharedArrayBuffer): SpoolFaults {
  const words = new Int32Array(memory)

  function reasonOf(writer: number): string | null {
    const number = Atomics.load(words, writer)
    if (number === 0) return null
    if (number === UNKNOWN) return 'unexpected error, see the log'
    return `${getSystemErrorName(-number)}: ${getSystemErrorMessage(-number)}`
  }

  return {
    note(writer, cause) {
      Atomics.store(words, writer, cause === null ? 0 : numberOf(cause))
    },
    get reason() {
      const reasons = Array.from(words.keys(), reasonOf).filter((reason) => reason !== null)
      return reasons.length === 0 ? null : [...new Set(reasons)].join('; ')
    },
    reasonOf,
  }
}

function numberOf(cause: unknown): number {
  const { errno } = (cause ?? {}) as NodeJS.ErrnoException
  return typeof errno === 'number' && errno < 0 ? -errno : UNKNOWN
}
