/**
 * The calls that a node may have admitted in each window, written to disk before they can be admitted.
 *
 * After a crash the node reports them as used: it cannot know which of them it answered. Only windows need this: leases of rates end
 * by themselves, and running calls end with the process. A window is retained for its length and a margin after the last lease
 * in it, by the monotonic clock, so that the node remembers a window that is open again because a clock was set back.
 */

export interface JournalEntry {
  readonly key: string
  readonly startMs: number
  readonly endMs: number
  /** Calls admitted in the window plus those that may still be. */
  readonly claim: number
}

/** Writes entries so that they survive the process. Throws if it cannot; then no call is admitted by them. */
export type WriteJournal = (entries: readonly JournalEntry[]) => void

interface Retained extends JournalEntry {
  readonly writtenMs: number
}

export class LeaseJournal {
  readonly #write: WriteJournal
  readonly #retained = new Map<string, Retained>()

  /** `restored` are the entries of the process before, in the order in which they were written. */
  constructor(write: WriteJournal, restored: readonly JournalEntry[], monotonicMs: number) {
    this.#write = write
    for (const entry of restored) this.#retain(entry, monotonicMs)
  }

  claimIn(key: string, startMs: number): number {
    return this.#retained.get(`${key} ${startMs}`)?.claim ?? 0
  }

  append(entries: readonly JournalEntry[], monotonicMs: number): void {
    if (entries.length === 0) return
    this.#write(entries)
    for (const entry of entries) this.#retain(entry, monotonicMs)
  }

  all(): readonly JournalEntry[] {
    return [...this.#retained.values()].map(({ writtenMs: _, ...entry }) => entry)
  }

  /** Discards windows that have ended, unless a clock was set back by more than the margin. */
  discardEnded(monotonicMs: number, marginMs: number): void {
    for (const [place, { startMs, endMs, writtenMs }] of this.#retained) {
      if (monotonicMs - writtenMs > endMs - startMs + marginMs) this.#retained.delete(place)
    }
  }

  #retain({ key, startMs, endMs, claim }: JournalEntry, writtenMs: number): void {
    this.#retained.set(`${key} ${startMs}`, { key, startMs, endMs, claim, writtenMs })
  }
}
