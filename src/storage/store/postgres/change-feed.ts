/**
 * The change feed of the registry on PostgreSQL: every node delivers every change once, in commit order.
 *
 * A notification is only a hint, and a poll finds what a hint missed. One loop reads for all watchers of the process. A commit of this
 * process resolves after its changes were delivered here. An exception in a listener is a bug of that listener: the others go on.
 *
 * A restored server, or a standby that took over, may lack the last changes and give their positions to others. So each page begins
 * with the change that was read last; if it is another one now, nothing that follows can be trusted, and the feed ends. It also ends
 * before a change that only later versions read: half of it is worse than none.
 */

import { toDocument, type StoredDocument } from '../document-row.ts'
import { FORMAT } from '../nodes.ts'
import type { Change } from '../registry.ts'

export interface ChangeFeed {
  watch(position: number, listener: (change: Change) => void): () => void
  /** Looks for changes. It never rejects; a failed read is repeated by the next call. */
  poll(): Promise<void>
  /** Resolves when all watchers have received the changes up to a position, or when they cannot be read. */
  delivered(position: number): Promise<void>
  close(): Promise<void>
}

export interface StoredChange extends StoredDocument {
  readonly position: number
  /** Random. */
  readonly commit_id: string
  readonly removed: boolean
  /** Format of shared data in which it was written. */
  readonly format: number
}

export interface ChangeFeedOptions {
  /** Returns changes from a position on, in order. */
  readonly readFrom: (position: number, limit: number) => Promise<readonly StoredChange[]>
  readonly onFailed: (cause: unknown) => void
  /** The changes that were delivered last are gone from the database: everything that was derived from them is to be read again. */
  readonly onRewound: () => void
  /** A change has a format that only later versions read: the feed has ended. */
  readonly onOutdated: () => void
}

interface Watcher {
  at: number
  readonly listener: (change: Change) => void
}

const PAGE = 500

export function createChangeFeed(options: ChangeFeedOptions): ChangeFeed {
  return new Feed(options)
}

class Feed implements ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #watchers = new Set<Watcher>()
  #isClosed = false
  /** The change that was read last. */
  #last: Pick<StoredChange, 'position' | 'commit_id'> | null = null
  #reading: Promise<boolean> | null = null
  #isAskedAgain = false

  constructor(options: ChangeFeedOptions) {
    this.#options = options
  }

  watch(position: number, listener: (change: Change) => void): () => void {
    const watcher = { at: position, listener }
    this.#watchers.add(watcher)
    void this.#read()
    return () => void this.#watchers.delete(watcher)
  }

  async poll(): Promise<void> {
    await this.#read()
  }

  async delivered(position: number): Promise<void> {
    let isReadable = true
    while (isReadable && !this.#isClosed && this.#lowest() < position) isReadable = await this.#read()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#reading
  }

  /** Returns the position that every watcher has reached; infinite without a watcher. */
  #lowest(): number {
    return Math.min(...Array.from(this.#watchers, ({ at }) => at))
  }

  /** Delivers everything up to now, and returns whether it could be read. */
  #read(): Promise<boolean> {
    this.#isAskedAgain = true
    return (this.#reading ??= this.#readAll())
  }

  async #readAll(): Promise<boolean> {
    try {
      while (this.#isAskedAgain) {
        this.#isAskedAgain = false
        for (let page = await this.#nextPage(); page.length > 0; page = await this.#nextPage()) {
          for (const row of page) this.#deliver(row)
        }
      }
      return true
    } catch (cause) {
      if (!this.#isClosed) this.#options.onFailed(cause)
      return false
    } finally {
      this.#reading = null
    }
  }

  async #nextPage(): Promise<readonly StoredChange[]> {
    if (this.#isClosed || this.#watchers.size === 0) return []
    const from = this.#lowest()
    const page = await this.#options.readFrom(from, PAGE)
    const [first, ...others] = page
    const isRead = first?.position === from
    if (this.#last?.position === from && (!isRead || first.commit_id !== this.#last.commit_id)) {
      this.#isClosed = true
      this.#options.onRewound()
      return []
    }
    const next = isRead ? others : page
    if (next.some(({ format }) => format > FORMAT)) {
      this.#isClosed = true
      this.#options.onOutdated()
      return []
    }
    this.#last = page.at(-1) ?? this.#last
    return next
  }

  #deliver(row: StoredChange): void {
    const change: Change = { position: row.position, document: toDocument(row), removed: row.removed }
    for (const watcher of [...this.#watchers]) {
      if (!this.#watchers.has(watcher) || watcher.at >= row.position) continue
      watcher.at = row.position
      try {
        watcher.listener(change)
      } catch (cause) {
        queueMicrotask(() => {
          throw cause
        })
      }
    }
  }
}
