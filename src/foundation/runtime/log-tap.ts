/** Passes the lines of the log to one more reader, which may connect later. */

export interface LogTap {
  readonly write: (line: string) => void
  /** Passes the lines so far, and all that follow. Returns how many of those so far were dropped. */
  connect(reader: (line: string) => void): number
  /** Keeps the lines that follow, until a reader connects again. */
  disconnect(): void
}

/** Lines that are kept until the reader connects. */
const KEPT_MAX = 1_000

export function createLogTap(): LogTap {
  let kept: string[] = []
  let dropped = 0
  let reader: ((line: string) => void) | null = null

  return {
    write(line) {
      if (reader !== null) reader(line)
      else if (kept.length < KEPT_MAX) kept.push(line)
      else dropped++
    },
    connect(next) {
      reader = next
      for (const line of kept) next(line)
      kept = []
      const missing = dropped
      dropped = 0
      return missing
    },
    disconnect: () => void (reader = null),
  }
}
