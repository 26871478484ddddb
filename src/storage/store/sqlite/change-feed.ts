/**
 * The change feed of one node: stored changes first, then new commits, each change once and in order.
 *
 * A listener may commit, watch and unsubscribe; changes from its own commits follow after the current one. An exception in a
 * listener is a bug of that listener: it neither fails the commit, which is on disk already, nor stops the other listeners.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Change } from '../registry.ts'
import { toDocument, type DocumentRow } from './document-row.ts'

export interface ChangeFeed {
  watch(position: number, listener: (change: Change) => void): () => void
  /** Delivers the changes of the latest commits to all watchers. */
  notify(): void
}

interface ChangeRow extends DocumentRow {
  readonly position: number
  readonly removed: number
}

interface Watcher {
  at: number
  isStopped: boolean
  readonly listener: (change: Change) => void
}

const PAGE = 100

export function createChangeFeed(database: DatabaseSync): ChangeFeed {
  const feed = new Feed(database)
  return {
    watch: (position, listener) => feed.watch(position, listener),
    notify: () => feed.notify(),
  }
}

class Feed implements ChangeFeed {
  readonly #changes: StatementSync
  readonly #watchers = new Set<Watcher>()
  /** Position up to which all watchers were notified. */
  #notified: number
  #isNotifying = false

  constructor(database: DatabaseSync) {
    this.#changes = database.prepare('SELECT * FROM change WHERE position > ? ORDER BY position LIMIT ?')
    const last = database.prepare('SELECT max(position) AS position FROM change').get()
    this.#notified = Number(last?.['position'] ?? 0)
  }

  watch(position: number, listener: (change: Change) => void): () => void {
    const watcher: Watcher = { at: position, isStopped: false, listener }
    this.#catchUp(watcher)
    this.#watchers.add(watcher)
    return () => {
      watcher.isStopped = true
      this.#watchers.delete(watcher)
    }
  }

  notify(): void {
    // A commit by a listener is delivered by the loop of the outer call, after the current change.
    if (this.#isNotifying) return
    this.#isNotifying = true
    try {
      for (let page = this.#pageAfter(this.#notified); page.length > 0; page = this.#pageAfter(this.#notified)) {
        for (const row of page) {
          this.#notified = row.position
          this.#deliver(row)
        }
      }
    } finally {
      this.#isNotifying = false
    }
  }

  #pageAfter(position: number): readonly ChangeRow[] {
    return this.#changes.all(position, PAGE) as unknown as readonly ChangeRow[]
  }

  /** Delivers stored changes up to the end of the feed, which the listener itself may extend. */
  #catchUp(watcher: Watcher): void {
    for (let page = this.#pageAfter(watcher.at); page.length > 0; page = this.#pageAfter(watcher.at)) {
      for (const row of page) {
        if (watcher.isStopped) return
        watcher.at = row.position
        watcher.listener(toChange(row))
      }
    }
  }

  /** Delivers one change to all watchers. */
  #deliver(row: ChangeRow): void {
    const change = toChange(row)
    for (const watcher of [...this.#watchers]) {
      if (watcher.isStopped || watcher.at >= row.position) continue
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

function toChange(row: ChangeRow): Change {
  return { position: row.position, document: toDocument(row), removed: row.removed === 1 }
}
