/**
 * The change feed of one node: what is stored first, then what is committed, each change once, in order.
 *
 * A listener may commit, watch and stop watching itself; what that adds comes after what it is being
 * told. A listener that throws has a bug, which is its own: it is not told to whoever committed, since
 * the commit is on disk, and it keeps nothing from the other listeners.
 */

import type { DatabaseSync } from 'node:sqlite'
import type { Change } from '../registry.ts'
import { toDocument, type DocumentRow } from './document-row.ts'

export interface ChangeFeed {
  watch(position: number, listener: (change: Change) => void): () => void
  /** Something was committed. */
  tell(): void
}

interface ChangeRow extends DocumentRow {
  readonly position: number
  readonly removed: number
}

interface Watcher {
  at: number
  isTelling: boolean
  isStopped: boolean
  readonly listener: (change: Change) => void
}

const PAGE = 100

export function createChangeFeed(database: DatabaseSync): ChangeFeed {
  const changes = database.prepare('SELECT * FROM change WHERE position > ? ORDER BY position LIMIT ?')
  const watchers = new Set<Watcher>()

  /** Up to the end of the feed, which a listener may move on. */
  function bringUp(watcher: Watcher): void {
    if (watcher.isTelling) return
    watcher.isTelling = true
    try {
      for (let isMore = true; isMore;) {
        const rows = changes.all(watcher.at, PAGE) as unknown as ChangeRow[]
        isMore = rows.length > 0
        for (const row of rows) {
          if (watcher.isStopped) return
          watcher.at = row.position
          watcher.listener({ position: row.position, document: toDocument(row), removed: row.removed === 1 })
        }
      }
    } finally {
      watcher.isTelling = false
    }
  }

  return {
    watch(position, listener) {
      const watcher: Watcher = { at: position, isTelling: false, isStopped: false, listener }
      bringUp(watcher)
      watchers.add(watcher)
      return () => {
        watcher.isStopped = true
        watchers.delete(watcher)
      }
    },
    tell() {
      for (const watcher of watchers) {
        try {
          bringUp(watcher)
        } catch (cause) {
          queueMicrotask(() => {
            throw cause
          })
        }
      }
    },
  }
}
