/** Reads a sequence before its items are asked for, so that its reader can do other work meanwhile. */

/**
 * Holds at most `itemsMax`. A failure of `items` reaches the reader after the items before it. Can be read once; `items` ends with its
 * reader.
 */
export function readAhead<Item>(items: AsyncIterable<Item>, itemsMax: number): AsyncIterable<Item> {
  const read: Item[] = []
  let end: { readonly cause: unknown } | 'end' | null = null
  let isAbandoned = false
  /** Resolves when something was read, or taken. */
  let changed = Promise.withResolvers<void>()
  const notify = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  async function readAll(): Promise<void> {
    try {
      for await (const item of items) {
        read.push(item)
        notify()
        while (read.length >= itemsMax && !isAbandoned) await changed.promise
        if (isAbandoned) return
      }
      end = 'end'
    } catch (cause) {
      end = { cause }
    }
    notify()
  }
  void readAll()
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          while (read.length > 0) {
            const item = read.shift()!
            notify()
            yield item
          }
          if (end === 'end') return
          if (end !== null) throw end.cause
          await changed.promise
        }
      } finally {
        isAbandoned = true
        notify()
      }
    },
  }
}
