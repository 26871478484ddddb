/** The promises of a process at the moment of the power cut, computed from the lines that it printed before. */

import type { SpoolSync } from '../../src/storage/spool/spool-writer-options.ts'
import type { FlushNote } from '../../src/storage/store/flush-log.ts'
import { toRequestId } from './calls.ts'

export type Line =
  /** The master key is in use. */
  | { readonly did: 'key'; readonly hex: string }
  | { readonly did: 'open'; readonly instance: string; readonly commits: number }
  /** Records up to `sequence` are passed to the writer; then its caller received the confirmation that they are safe. */
  | { readonly did: 'offer' | 'safe'; readonly prefix: string; readonly sequence: number }
  /** The sync timer of the writer fired; then its sync has ended. */
  | { readonly did: 'tick' | 'ticked' }
  /** The store, which loses nothing here, received a flush: its range, and the time when its rows are stored. */
  | { readonly did: 'note'; readonly note: FlushNote }
  /** The store received rows. */
  | { readonly did: 'store'; readonly token: string; readonly ids: readonly string[] }
  /** A flush is about to be recorded; then its position is committed. */
  | { readonly did: 'begin'; readonly to: string }
  | { readonly did: 'flushed' }
  /** A commit of `writes` documents to the registry begins; then it has ended. */
  | { readonly did: 'commit'; readonly number: number; readonly writes: number }
  | { readonly did: 'committed'; readonly number: number }
  /** The commit of a risk event begins; then it has ended. */
  | { readonly did: 'risk' | 'risked'; readonly number: number }

export interface Promises {
  key: string | null
  instance: string | null
  /** The last sequence by prefix of request ids. */
  readonly offered: Map<string, number>
  readonly safe: Map<string, number>
  /** The value of `safe` when the last completed sync began. */
  readonly synced: Map<string, number>
  /** Ids that were found after an earlier power cut. */
  readonly kept: Set<string>
  /** Rows by token; a second insert with the same token changes nothing. */
  readonly stored: Map<string, readonly string[]>
  /** The last entry of the flush log by number of the flush. */
  readonly notes: Map<number, FlushNote>
  /** Positions of the flushes that began, in order, and the number of committed ones. */
  readonly begun: string[]
  flushed: number
  /** Attempted commits, in order, and the number of acknowledged ones. */
  readonly commits: { readonly number: number; readonly writes: number }[]
  committed: number
  riskTried: number
  riskDone: number
}

export function noPromises(): Promises {
  return {
    key: null,
    instance: null,
    offered: new Map(),
    safe: new Map(),
    synced: new Map(),
    kept: new Set(),
    stored: new Map(),
    notes: new Map(),
    begun: [],
    flushed: 0,
    commits: [],
    committed: 0,
    riskTried: 0,
    riskDone: 0,
  }
}

export function createPromiseReader(promises: Promises): (line: Line) => void {
  let asked: ReadonlyMap<string, number> = new Map()

  return (line) => {
    switch (line.did) {
      case 'key':
        promises.key = line.hex
        return
      case 'open': {
        promises.instance = line.instance
        // Earlier attempts that are missing now remain missing.
        const last = promises.commits.findIndex(({ number }) => number === line.commits)
        promises.commits.splice(last + 1)
        promises.committed = promises.commits.length
        return
      }
      case 'offer':
        promises.offered.set(line.prefix, line.sequence)
        return
      case 'safe':
        promises.safe.set(line.prefix, line.sequence)
        return
      case 'tick':
        asked = new Map(promises.safe)
        return
      case 'ticked':
        for (const [prefix, sequence] of asked) promises.synced.set(prefix, sequence)
        return
      case 'store':
        if (!promises.stored.has(line.token)) promises.stored.set(line.token, line.ids)
        return
      case 'note':
        promises.notes.set(line.note.number, line.note)
        return
      case 'begin':
        promises.begun.push(line.to)
        return
      case 'flushed':
        promises.flushed = promises.begun.length
        return
      case 'commit':
        promises.commits.push(line)
        return
      case 'committed':
        promises.committed = promises.commits.length
        return
      case 'risk':
        promises.riskTried = line.number
        return
      case 'risked':
        promises.riskDone = line.number
    }
  }
}

/** Ids of the calls that must be found after a power cut. */
export function* promisedIds(promises: Promises, sync: SpoolSync): Iterable<string> {
  yield* promises.kept
  if (sync !== 'never') yield* idsUpTo(sync === 'always' ? promises.safe : promises.synced)
}

export function* idsUpTo(last: ReadonlyMap<string, number>): Iterable<string> {
  for (const [prefix, sequence] of last) for (let each = 1; each <= sequence; each++) yield toRequestId(prefix, each)
}
