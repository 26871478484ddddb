/** Limits the messages of each credential that call no operation, per minute of one gateway thread. */

export interface MessageLimit {
  /** Returns the seconds until the next minute if the credential has used its messages; otherwise counts one and returns 0. */
  take(credential: string, nowMs: number): number
}

const MINUTE_MS = 60_000
/** At this number of credentials in one minute, new ones are not counted. */
const CREDENTIALS_MAX = 50_000

export function createMessageLimit(perMinute: number): MessageLimit {
  let minute = 0
  let used = new Map<string, number>()

  return {
    take(credential, nowMs) {
      const current = Math.floor(nowMs / MINUTE_MS)
      if (current !== minute) {
        minute = current
        used = new Map()
      }
      const count = used.get(credential) ?? 0
      if (count >= perMinute) return Math.max(1, Math.ceil(((current + 1) * MINUTE_MS - nowMs) / 1_000))
      if (count > 0 || used.size < CREDENTIALS_MAX) used.set(credential, count + 1)
      return 0
    },
  }
}
