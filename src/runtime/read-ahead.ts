/** Reads a sequence before its items are asked for, so that its reader can do other work meanwhile. It is held in memory. */

/** A failure of `items` reaches the reader after the items before it. Can be read once. */
export function readAhead<Item>(items: AsyncIterable<Item>): AsyncIterable<Item> {
  const read: Item[] = []
  let end: { readonly cause: unknown } | 'end' | null = null
  let more = Promise.withResolvers<void>()
  const notify = (): void => {
    more.resolve()
    more = Promise.withResolvers()
  }
  async function readAll(): Promise<void> {
    try {
      for await (const item of items) {
        read.push(item)
        notify()
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
        yield* read.splice(0)
        if (read.length > 0) continue
        if (end === 'end') return
        if (end !== null) throw end.cause
        await more.promise
      }
    },
  }
}
