/**
 * A line for credentials that are met for the first time, so that those who are known go first.
 *
 * Verifying a signature holds the loop for some 50 µs. Whoever sends made-up tokens by the thousand would
 * have every known caller wait for all that came in the same turn; so only a few are verified in a turn,
 * behind everything else that the turn brought. The line is bounded.
 */

export interface Newcomers {
  /** Runs `work` when its turn comes. Null where too many wait already. */
  take<T>(work: () => T): Promise<T> | null
}

export interface NewcomersOptions {
  /** Runs a task behind what the loop has at hand. */
  readonly defer?: (task: () => void) => void
  readonly waitingMax?: number
}

const AT_ONCE = 2
const WAITING_MAX = 2_000

export function createNewcomers(options: NewcomersOptions = {}): Newcomers {
  const { defer = setImmediate, waitingMax = WAITING_MAX } = options
  let line: (() => void)[] = []
  let served = 0

  function serve(): void {
    for (let count = 0; count < AT_ONCE && served < line.length; count++) line[served++]?.()
    if (served < line.length) return void defer(serve)
    line = []
    served = 0
  }

  return {
    take(work) {
      if (line.length - served >= waitingMax) return null
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof work>>()
      line.push(() => {
        try {
          resolve(work())
        } catch (cause) {
          reject(cause instanceof Error ? cause : new Error(String(cause)))
        }
      })
      if (line.length === 1) defer(serve)
      return promise
    },
  }
}
