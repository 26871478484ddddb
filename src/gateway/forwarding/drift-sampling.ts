/** Samples of response bodies: which responses are sampled, and the collection of their bytes. */

import { ChunkList } from '../connection/chunk-list.ts'
import type { DeclaredResponse } from '../validation/declared-responses.ts'

/** Collects a body while it is relayed. */
export interface BodySample {
  add(chunk: Buffer): void
  /** The response is complete. */
  end(): void
}

const SAMPLE_EVERY_MS = 1_000
const SAMPLES_PER_SECOND_MAX = 20
const SAMPLE_BYTES_MAX = 65_536

/** Limits samples to one per second of each declared response, and to a number per second of the thread. */
export class SampleBudget {
  #second = 0
  #samples = 0

  /** Uses one sample of the budget. The first sample of a declared response is always allowed. */
  take(response: DeclaredResponse, nowMs: number): boolean {
    if (nowMs - response.sampledMs < SAMPLE_EVERY_MS) return false
    const second = Math.floor(nowMs / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#samples = 0
    }
    if (response.sampledMs !== -Infinity && this.#samples >= SAMPLES_PER_SECOND_MAX) return false
    this.#samples++
    response.sampledMs = nowMs
    return true
  }
}

/** Keeps the chunks of one body, and calls `check` with the whole after the response was sent. */
export class BufferedSample implements BodySample {
  readonly #check: (body: Buffer) => void
  readonly #onFault: (cause: unknown) => void
  #chunks = new ChunkList()
  #bytes = 0

  constructor(check: (body: Buffer) => void, onFault: (cause: unknown) => void) {
    this.#check = check
    this.#onFault = onFault
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= SAMPLE_BYTES_MAX) this.#chunks.add(chunk)
    else this.#chunks = new ChunkList()
  }

  end(): void {
    if (this.#bytes === 0 || this.#bytes > SAMPLE_BYTES_MAX) return
    setImmediate(() => {
      try {
        this.#check(this.#chunks.join())
      } catch (cause) {
        this.#onFault(cause)
      }
    })
  }
}
