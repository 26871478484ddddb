/** The counters of one subscription at one API: where they lie, and how a thread sees them. */

/** Can be posted to a thread. */
export interface BlockRef {
  readonly page: SharedArrayBuffer
  /** In doubles. */
  readonly offset: number
  readonly size: number
  /** `Layout.id` */
  readonly layout: string
  /** Gauges of calls that began in blocks before this one and still run. */
  readonly elders: readonly ElderRef[]
}

export interface ElderRef {
  readonly page: SharedArrayBuffer
  /** First gauge, in 32-bit words. */
  readonly at: number
  /** Of the limit in the present block. */
  readonly offset: number
}

export interface Block {
  /** Number of its layout in this thread. */
  readonly layout: number
  /** The same memory twice. In words: the lock is the first, gauges lie further behind. */
  readonly words: Int32Array
  readonly doubles: Float64Array
  readonly elders: readonly Elder[] | null
}

export interface Elder {
  readonly offset: number
  readonly lanes: Int32Array
}

export function openBlock(ref: BlockRef, layout: number, threads: number): Block {
  const { page, offset, size, elders } = ref
  return {
    layout,
    words: new Int32Array(page, offset * 8, size * 2),
    doubles: new Float64Array(page, offset * 8, size),
    elders:
      elders.length === 0
        ? null
        : elders.map((elder) => ({ offset: elder.offset, lanes: lanesOf(elder.page, elder.at, threads) })),
  }
}

export function lanesOf(page: SharedArrayBuffer, at: number, threads: number): Int32Array {
  return new Int32Array(page, at * 4, threads)
}

/** Calls in flight by these gauges. */
export function sumOf(words: Int32Array, at: number, threads: number): number {
  let sum = 0
  for (let index = at; index < at + threads; index++) sum += Atomics.load(words, index)
  return sum
}
