/**
 * Per-key mutex: commands on the same resource run one at a time, in arrival order.
 *
 * Keeps a command's registry commit and its update of the gateway threads together: no other command on the same key can
 * run between the two.
 */

export interface KeyedMutex {
  /** Runs `task` once all earlier tasks for any of `keys` have settled. */
  runExclusive<T>(keys: readonly string[], task: () => Promise<T>): Promise<T>
}

export function createKeyedMutex(): KeyedMutex {
  /** The last task of each key; removed when it has settled and no other follows. */
  const tails = new Map<string, Promise<unknown>>()

  return {
    runExclusive(keys, task) {
      // All keys are claimed in the same turn of the event loop, so that two tasks cannot wait for each other.
      const earlier = keys.map((key) => tails.get(key))
      const done = Promise.all(earlier).then(task)
      const tail = done.then(
        () => {},
        () => {},
      )
      for (const key of keys) tails.set(key, tail)
      void tail.then(() => {
        for (const key of keys) if (tails.get(key) === tail) tails.delete(key)
      })
      return done
    },
  }
}
