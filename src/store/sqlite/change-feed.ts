/**
 * The change feed of one node: stored changes first, then new commits, each change once and in order.
 *
 * A listener may commit, watch and unsubscribe; changes from its own commits follow after the current one. An exception in a
 * listener is a bug of that listener: it neither fails the commit, which is on disk already, nor stops the other listeners.
 */

import type { DatabaseSync } from 'node:sqlite'
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
  const changes = database.prepare('SELECT * FROM change WHERE position > ? ORDER BY position LIMIT ?')
  const last = database.prepare('SELECT max(position) AS position FROM change')
  const watchers = new Set<Watcher>()
  /** Position up to which all watchers were notified. */
  let notified = Number(last.get()?.['position'] ?? 0)
  let isNotifying = false

  const pageAfter = (position: number): readonly ChangeRow[] =>
    changes.all(position, PAGE) as unknown as readonly ChangeRow[]

  /** Delivers stored changes up to the end of the feed, which the listener itself may extend. */
  function catchUp(watcher: Watcher): void {
    for (let page = pageAfter(watcher.at); page.length > 0; page = pageAfter(watcher.at)) {
      for (const row of page) {
        if (watcher.isStopped) return
        watcher.at = row.position
        watcher.listener(toChange(row))
      }
    }
  }

  /** Delivers one change to all watchers. */
  function deliver(row: ChangeRow): void {
    const change = toChange(row)
    for (const watcher of [...watchers]) {
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

  return {
    watch(position, listener) {
      const watcher: Watcher = { at: position, isStopped: false, listener }
      catchUp(watcher)
      watchers.add(watcher)
      return () => {
        watcher.isStopped = true
        watchers.delete(watcher)
      }
    },
    notify() {
      // A commit by a listener is delivered by the loop of the outer call, after the current change.
      if (isNotifying) return
      isNotifying = true
      try {
        for (let page = pageAfter(notified); page.length > 0; page = pageAfter(notified)) {
          for (const row of page) {
            notified = row.position
            deliver(row)
          }
        }
      } finally {
        isNotifying = false
      }
    },
  }
}

function toChange(row: ChangeRow): Change {
  return { position: row.position, document: toDocument(row), removed: row.removed === 1 }
}
