/** Follows the change feed from the first use on, for state that is read on demand. */

import type { Change, Registry } from '../../storage/store/registry.ts'

/** Returns a function that resolves when `listener` receives the changes from now on. After a failure, the next call tries again. */
export function createLazyWatch(
  registry: Pick<Registry, 'end' | 'watch'>,
  listener: (change: Change) => void,
): () => Promise<void> {
  let watching: Promise<void> | null = null

  async function watch(): Promise<void> {
    registry.watch(await registry.end(), listener)
  }

  function evict(cause: unknown): never {
    watching = null
    throw cause
  }

  return () => (watching ??= watch().catch(evict))
}
