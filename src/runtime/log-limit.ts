/**
 * Limits a log line that repeats: the same one at most once in ten seconds, with the number of repetitions.
 *
 * The first is written at once; those that follow within ten seconds are counted. The next line carries their
 * number. If none follows, `sweep` writes the last one that was held back, so that no count is lost.
 */

import type { Clock } from './clock.ts'

export interface LogLimit {
  /** Calls `write`, or holds it back and counts it; `repeated` is how many were held back since the last line. */
  limit(key: string, write: (repeated: number) => void): void
  /** Writes what was held back for ten seconds; to be called every second. */
  sweep(): void
}

interface Line {
  readonly atMs: number
  repeated: number
  write: (repeated: number) => void
}

const EVERY_MS = 10_000
/** Lines that are told apart; the rest share one budget. */
const KEYS_MAX = 1_000
const REST = ''

export function createLogLimit({ nowMs }: Pick<Clock, 'nowMs'>): LogLimit {
  const lines = new Map<string, Line>()

  /** Also where the clock was set back. */
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
      const key = lines.size < KEYS_MAX || lines.has(given) ? given : REST
      const line = lines.get(key)
      if (line === undefined) return writeNow(key, write, 0)
      if (isOver(line)) return writeNow(key, write, line.repeated)
      line.repeated++
      line.write = write
    },
    sweep() {
      for (const [key, line] of [...lines]) {
        if (!isOver(line)) continue
        // The line that is written now is one of those held back.
        if (line.repeated > 0) writeNow(key, line.write, line.repeated - 1)
        else lines.delete(key)
      }
    },
  }
}
