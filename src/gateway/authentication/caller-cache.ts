/**
 * Callers by the text of the credential that they sent, in two generations: what is used moves to the
 * young one, what is not is forgotten with the old one.
 *
 * Bounded by number and by characters, since whoever may mint tokens may mint long ones. A look-up of a
 * caller in use is one `Map.get`.
 */

export interface CallerCache<Caller> {
  get(text: string): Caller | undefined
  set(text: string, caller: Caller): void
  clear(): void
}

export interface CallerCacheOptions {
  readonly callersMax: number
  readonly charactersMax: number
  /** A generation was forgotten with so many callers in it. */
  readonly onForgotten: (callers: number) => void
}

export function createCallerCache<Caller>(options: CallerCacheOptions): CallerCache<Caller> {
  const youngMax = Math.max(1, Math.floor(options.callersMax / 2))
  const charactersMax = options.charactersMax / 2
  let young = new Map<string, Caller>()
  let old = new Map<string, Caller>()
  let characters = 0

  function set(text: string, caller: Caller): void {
    if (!young.has(text)) {
      if (young.size >= youngMax || characters + text.length > charactersMax) turn()
      characters += text.length
    }
    young.set(text, caller)
  }

  function turn(): void {
    if (old.size > 0) options.onForgotten(old.size)
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
