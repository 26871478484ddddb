/**
 * Commands on one thing, one after the other: what a command commits and what it then tells the gateway
 * cannot be overtaken by another command on the same thing.
 */

export interface Turns {
  /** Runs `work` when all that came before for any of `keys` is done. */
  take<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>
}

export function createTurns(): Turns {
  /** The last in line; forgotten when nobody waits. */
  const lines = new Map<string, Promise<unknown>>()

  return {
    take(keys, work) {
      // All places at once, so that two commands cannot wait for each other.
      const before = keys.map((key) => lines.get(key))
      const done = Promise.all(before).then(work)
      const place = done.then(
        () => {},
        () => {},
      )
      for (const key of keys) lines.set(key, place)
      void place.then(() => {
        for (const key of keys) if (lines.get(key) === place) lines.delete(key)
      })
      return done
    },
  }
}
