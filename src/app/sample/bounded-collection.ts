/** A bounded collection in insertion order. A full collection evicts its oldest item. */

export interface BoundedCollection<T> {
  put(item: T): T
  get(id: string): T | undefined
  remove(id: string): boolean
  /** Returns the items after the item `after`, newest first. If that item was evicted or removed, starts from the newest. */
  page(limit: number, after: string | undefined): { items: readonly T[]; next: string | null }
}

export function createBoundedCollection<T extends { readonly id: string }>(itemsMax: number): BoundedCollection<T> {
  const items = new Map<string, T>()

  return {
    put(item) {
      if (!items.has(item.id) && items.size >= itemsMax) {
        const [oldest] = items.keys()
        if (oldest !== undefined) items.delete(oldest)
      }
      items.set(item.id, item)
      return item
    },

    get: (id) => items.get(id),
    remove: (id) => items.delete(id),

    page(limit, after) {
      const ids = [...items.keys()].reverse()
      const start = after === undefined ? 0 : ids.indexOf(after) + 1
      const shown = ids.slice(start, start + limit)
      const last = shown.at(-1)
      return {
        items: shown.flatMap((id) => items.get(id) ?? []),
        next: last !== undefined && start + limit < ids.length ? last : null,
      }
    },
  }
}
