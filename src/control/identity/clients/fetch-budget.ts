/**
 * Bounds the requests that strangers can make this service send: per host, in total per minute, and at the same time.
 *
 * The counts start anew each minute, so that they never hold more hosts than requests of one minute.
 */

export interface FetchBudget {
  /** Returns null if the host, or all hosts together, had too many requests; otherwise what to call when the request has ended. */
  take(host: string): (() => void) | null
}

export const PER_MINUTE_MAX = 60
export const PER_HOST_MAX = 6
export const CONCURRENT_MAX = 8
const WINDOW_MS = 60_000

export function createFetchBudget(nowMs: () => number): FetchBudget {
  const byHost = new Map<string, number>()
  let windowMs = 0
  let total = 0
  let running = 0

  return {
    take(host) {
      const currentMs = Math.floor(nowMs() / WINDOW_MS)
      if (currentMs !== windowMs) {
        windowMs = currentMs
        total = 0
        byHost.clear()
      }
      const ofHost = byHost.get(host) ?? 0
      if (running >= CONCURRENT_MAX || total >= PER_MINUTE_MAX || ofHost >= PER_HOST_MAX) return null
      running++
      total++
      byHost.set(host, ofHost + 1)
      return () => void running--
    },
  }
}
