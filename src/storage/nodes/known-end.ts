import type { Registry } from '../store/registry.ts'

/**
 * Returns the position of the last change that this node has received, without a query. It never decreases, whereas the end of a
 * registry that is restored does.
 */
export function followEnd(registry: Pick<Registry, 'watch'>, position: number): Registry['end'] {
  let end = position
  registry.watch(position, (change) => (end = change.position))
  return async () => end
}
