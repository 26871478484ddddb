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
  isStopped: boolean
  readonly listener: (change: Change) => void
}

const PAGE = 100

export function createChangeFeed(database: DatabaseSync): ChangeFeed {
  const changes = database.prepare('SELECT * FROM change WHERE position > ? ORDER BY position LIMIT ?')
  const last = database.prepare('SELECT max(position) AS position FROM change')
  const watchers = new Set<Watcher>()
  /** Up to where all watchers have been told. */
  let told = Number(last.get()?.['position'] ?? 0)
  let isTelling = false

  const pageAfter = (position: number): readonly ChangeRow[] =>
    changes.all(position, PAGE) as unknown as readonly ChangeRow[]

  /** Up to the end of the feed, which the listener may move on. */
  function bringUp(watcher: Watcher): void {
    for (let page = pageAfter(watcher.at); page.length > 0; page = pageAfter(watcher.at)) {
      for (const row of page) {
        if (watcher.isStopped) return
        watcher.at = row.position
        watcher.listener(toChange(row))
      }
    }
  }

  /** Each change is read once for all of them. */
  function tellOf(row: ChangeRow): void {
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
      bringUp(watcher)
      watchers.add(watcher)
      return () => {
        watcher.isStopped = true
        watchers.delete(watcher)
      }
    },
    tell() {
      // What a listener commits comes after what is being told, and before anybody can wait for it.
      if (isTelling) return
      isTelling = true
      try {
        for (let page = pageAfter(told); page.length > 0; page = pageAfter(told)) {
          for (const row of page) {
            told = row.position
            tellOf(row)
          }
        }
      } finally {
        isTelling = false
      }
    },
  }
}

function toChange(row: ChangeRow): Change {
  return { position: row.position, document: toDocument(row), removed: row.removed === 1 }
}
