/**
 * Cache of verified callers by the text of their credential, in two generations.
 *
 * A caller in use moves to the young generation; the old one is evicted as a whole when the young one is full. The
 * cache is bounded by callers and by characters, since a client may mint long tokens. A look-up of a caller in use is
 * one `Map.get`.
 */

export interface CallerCache<Caller> {
  get(text: string): Caller | undefined
  set(text: string, caller: Caller): void
  clear(): void
}

export interface CallerCacheOptions {
  readonly callersMax: number
  readonly charactersMax: number
  /** Called when a generation was evicted, with the number of its callers. */
  readonly onEvicted: (callers: number) => void
}

export function createCallerCache<Caller>(options: CallerCacheOptions): CallerCache<Caller> {
  const youngMax = Math.max(1, Math.floor(options.callersMax / 2))
  const charactersMax = options.charactersMax / 2
  let young = new Map<string, Caller>()
  let old = new Map<string, Caller>()
  let characters = 0

  function set(text: string, caller: Caller): void {
    if (!young.has(text)) {
      if (young.size >= youngMax || characters + text.length > charactersMax) evictOld()
      characters += text.length
    }
    young.set(text, caller)
  }

  function evictOld(): void {
    if (old.size > 0) options.onEvicted(old.size)
    old = young
    young = new Map()
    characters = 0
  }

  return {
    set,
    get(text) {
      const caller = young.get(text)
      if (caller !== undefined) return caller
      const aged = old.get(text)
      if (aged !== undefined) set(text, aged)
      return aged
    },
    clear() {
      young = new Map()
      old = new Map()
      characters = 0
    },
  }
}

/** Returns the cache key of a credential that is a different caller at each API. */
export function toCacheKey(credential: string, api: string): string {
  return `${api} ${credential}`
}
