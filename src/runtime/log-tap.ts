/** Passes the lines of the log to one more reader, which may connect later. */

export interface LogTap {
  readonly write: (line: string) => void
  /** Passes the lines so far, and all that follow. */
  connect(reader: (line: string) => void): void
}

/** Lines that are kept until the reader connects. */
const KEPT_MAX = 1_000

export function createLogTap(): LogTap {
  let kept: string[] = []
  let reader: ((line: string) => void) | null = null

  return {
    write(line) {
      if (reader !== null) reader(line)
      else if (kept.length < KEPT_MAX) kept.push(line)
    },
    connect(next) {
      reader = next
      for (const line of kept) next(line)
      kept = []
    },
  }
}
