/**
 * Fill level of the spool, shared by all threads: one number in shared memory.
 *
 * Writers add the bytes that they write, and the reader subtracts the bytes that it deletes. The gauge counts pages of 4 KiB, so
 * that a 32-bit atomic covers 8 TiB; each thread keeps its own remainder.
 */

const PAGE_BYTES = 4096

export interface SpoolGauge {
  add(bytes: number): void
  readonly isFull: boolean
  /** Share of the limit that is used, from 0. */
  readonly share: number
}

export function createSpoolGaugeMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(4)
}

export function openSpoolGauge(memory: SharedArrayBuffer, bytesMax: number): SpoolGauge {
  const pages = new Int32Array(memory)
  const pagesMax = Math.max(1, Math.floor(bytesMax / PAGE_BYTES))
  let remainder = 0

  return {
    add(bytes) {
      remainder += bytes
      const whole = Math.trunc(remainder / PAGE_BYTES)
      if (whole === 0) return
      remainder -= whole * PAGE_BYTES
      Atomics.add(pages, 0, whole)
    },
    get isFull() {
      return Atomics.load(pages, 0) >= pagesMax
    },
    get share() {
      return Math.max(0, Atomics.load(pages, 0)) / pagesMax
    },
  }
}
