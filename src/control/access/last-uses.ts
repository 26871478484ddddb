/**
 * Notes when each credential was last used, to the minute.
 *
 * A use costs no write: the threads collect the credentials of a minute, and all of them are stored together once a minute. A process
 * that is killed loses the uses of its last minute at most.
 */

import { MINUTE_MS } from '../../foundation/domain/calendar.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CredentialUseStore } from '../../storage/store/credential-uses.ts'

export interface LastUses {
  note(credentials: readonly string[], minute?: number): void
  /** Returns the last use of each credential that was used, in milliseconds since 1970: the beginning of its minute. */
  read(credentials: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Removes the uses of credentials that are removed. */
  remove(credentials: readonly string[]): Promise<void>
  /** Stores what was noted. Never rejects: what the store refuses is kept, and stored with the next. */
  flush(): Promise<void>
  close(): Promise<void>
}

export interface LastUsesOptions {
  readonly store: CredentialUseStore
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly onFailed: (cause: unknown) => void
}

export function createLastUses({ store, clock, onFailed }: LastUsesOptions): LastUses {
  let noted = new Map<string, number>()
  let storing: ReadonlyMap<string, number> = new Map()
  let flushing: Promise<void> = Promise.resolve()
  const stop = clock.every(MINUTE_MS, () => void flush())

  function note(credentials: readonly string[], minute = minuteOf(clock.nowMs())): void {
    for (const credential of credentials) {
      if ((noted.get(credential) ?? 0) < minute) noted.set(credential, minute)
    }
  }

  function flush(): Promise<void> {
    flushing = flushing.then(storeNoted)
    return flushing
  }

  async function storeNoted(): Promise<void> {
    if (noted.size === 0) return
    storing = noted
    noted = new Map()
    try {
      await store.store(storing)
    } catch (cause) {
      storing.forEach((minute, credential) => note([credential], minute))
      onFailed(cause)
    }
    storing = new Map()
  }

  const latestOf = (credential: string): number => Math.max(noted.get(credential) ?? 0, storing.get(credential) ?? 0)

  return {
    note,
    async read(credentials) {
      const before = new Map(credentials.map((each) => [each, latestOf(each)]))
      const stored = await store.read(credentials)
      const latest = [...before].map(([each, minute]) => [each, Math.max(stored.get(each) ?? 0, minute)] as const)
      return new Map(latest.filter(([, minute]) => minute > 0).map(([each, minute]) => [each, minute * MINUTE_MS]))
    },
    async remove(credentials) {
      for (const credential of credentials) noted.delete(credential)
      await store.remove(credentials)
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
