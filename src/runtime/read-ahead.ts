/** Reads a sequence before its items are asked for, so that its reader can do other work meanwhile. */

/** Holds at most `itemsMax`. A failure of `items` reaches the reader after the items before it. Can be read once. */
export function readAhead<Item>(items: AsyncIterable<Item>, itemsMax: number): AsyncIterable<Item> {
  const read: Item[] = []
  let end: { readonly cause: unknown } | 'end' | null = null
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
        while (read.length >= itemsMax) await changed.promise
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
      for (;;) {
        for (const item of read.splice(0)) {
          notify()
          yield item
        }
        if (read.length > 0) continue
        if (end === 'end') return
        if (end !== null) throw end.cause
        await changed.promise
      }
    },
  }
}
