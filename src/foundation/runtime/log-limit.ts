/**
 * Rate limit for repeated log lines: each line at most once in ten seconds, with the number of repetitions.
 *
 * The first line is written immediately; repetitions within ten seconds are only counted. The next line carries their number. If no
 * line follows, `sweep` writes the last suppressed one, so that no count is lost.
 */

import type { Clock } from './clock.ts'

export interface LogLimit {
  /** Calls `write`, or suppresses and counts it. `repeated` is the number of lines suppressed since the last one. */
  limit(key: string, write: (repeated: number) => void): void
  /** Writes lines that were suppressed for ten seconds. Must be called every second. */
  sweep(): void
}

interface Line {
  readonly atMs: number
  repeated: number
  write: (repeated: number) => void
}

const EVERY_MS = 10_000
/** Maximum number of distinct lines; further lines share one budget. */
const KEYS_MAX = 1_000
const OVERFLOW_KEY = ''

export function createLogLimit({ nowMs }: Pick<Clock, 'nowMs'>): LogLimit {
  const lines = new Map<string, Line>()

  /** True after ten seconds, or if the clock was set back. */
  function isOver({ atMs }: Line): boolean {
    const sinceMs = nowMs() - atMs
    return sinceMs >= EVERY_MS || sinceMs < 0
  }

  function writeNow(key: string, write: Line['write'], repeated: number): void {
    lines.set(key, { atMs: nowMs(), repeated: 0, write })
    write(repeated)
  }

  return {
    limit(given, write) {
      const key = lines.size < KEYS_MAX || lines.has(given) ? given : OVERFLOW_KEY
      const line = lines.get(key)
      if (line === undefined) return writeNow(key, write, 0)
      if (isOver(line)) return writeNow(key, write, line.repeated)
      line.repeated++
      line.write = write
    },
    sweep() {
      for (const [key, line] of [...lines]) {
        if (!isOver(line)) continue
        // The line itself is one of the suppressed ones.
        if (line.repeated > 0) writeNow(key, line.write, line.repeated - 1)
        else lines.delete(key)
      }
    },
  }
}
