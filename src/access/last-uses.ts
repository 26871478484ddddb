/**
 * Notes when each credential was last used, to the minute.
 *
 * A use costs no write: the threads collect the credentials of a minute, and all of them are stored together once a minute. A process
 * that is killed loses the uses of its last minute at most.
 */

import type { Clock } from '../runtime/clock.ts'
import type { CredentialUseStore } from '../store/credential-uses.ts'

export interface LastUses {
  note(credentials: readonly string[], minute?: number): void
  /** Returns the last use of each credential that was used, in milliseconds since 1970: the beginning of its minute. */
  read(credentials: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Stores what was noted. Never rejects: what the store refuses is kept, and stored with the next. */
  flush(): Promise<void>
  close(): Promise<void>
}

export interface LastUsesOptions {
  readonly store: CredentialUseStore
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly onFailed: (cause: unknown) => void
}

const MINUTE_MS = 60_000

export function createLastUses({ store, clock, onFailed }: LastUsesOptions): LastUses {
  let noted = new Map<string, number>()
  const stop = clock.every(MINUTE_MS, () => void flush())

  function note(credentials: readonly string[], minute = minuteOf(clock.nowMs())): void {
    for (const credential of credentials) {
      if ((noted.get(credential) ?? 0) < minute) noted.set(credential, minute)
    }
  }

  async function flush(): Promise<void> {
    if (noted.size === 0) return
    const minutes = noted
    noted = new Map()
    try {
      await store.store(minutes)
    } catch (cause) {
      minutes.forEach((minute, credential) => note([credential], minute))
      onFailed(cause)
    }
  }

  return {
    note,
    async read(credentials) {
      const stored = await store.read(credentials)
      const latest = credentials.map((each) => [each, Math.max(stored.get(each) ?? 0, noted.get(each) ?? 0)] as const)
      return new Map(latest.filter(([, minute]) => minute > 0).map(([each, minute]) => [each, minute * MINUTE_MS]))
    },
    flush,
    async close() {
      stop()
      await flush()
    },
  }
}

function minuteOf(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}
