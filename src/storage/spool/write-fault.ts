/**
 * The failure state of a spool writer: the cause, and the timer of the next probe.
 *
 * While `current` is set, the writer refuses calls and does not touch the disk. A probe runs once a second and ends the state
 * with `clear`, or renews it with `raise`.
 */

import type { SpoolWriterOptions } from './spool-writer-options.ts'

/** Time after a failure during which the writer does not access the disk. */
const PROBE_EVERY_MS = 1_000

export type WriteFaultOptions = Pick<SpoolWriterOptions, 'clock' | 'onFailure' | 'onRefusing'> & {
  readonly probe: () => void
}

export class WriteFault {
  /** The cause, boxed because any value can be thrown; null while the writer accepts records. */
  current: { readonly cause: unknown } | null = null
  readonly #options: WriteFaultOptions
  #probeFromMs = 0
  #cancelProbe = (): void => {}
  #isClosed = false

  constructor(options: WriteFaultOptions) {
    this.#options = options
  }

  /** Whether enough time has passed for another probe. */
  get isProbeDue(): boolean {
    return this.#options.clock.nowMs() >= this.#probeFromMs
  }

  /** Starts or prolongs the failure state and schedules the next probe. */
  raise(cause: unknown): void {
    const { clock, probe, onRefusing, onFailure } = this.#options
    const isFirst = this.current === null
    this.current = { cause }
    this.#probeFromMs = clock.nowMs() + PROBE_EVERY_MS
    this.#cancelProbe()
    if (!this.#isClosed) this.#cancelProbe = clock.after(PROBE_EVERY_MS, probe)
    if (isFirst) onRefusing?.(cause)
    onFailure(cause)
  }

  clear(): void {
    this.#cancelProbe()
    this.current = null
    this.#options.onRefusing?.(null)
  }

  /** Stops the probes for good. */
  close(): void {
    this.#isClosed = true
    this.#cancelProbe()
  }
}
