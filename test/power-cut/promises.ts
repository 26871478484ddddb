/** What a process had promised when the power was cut: the lines that it printed until then, added up. */

import type { SpoolSync } from '../../src/record/spool-writer-options.ts'
import type { FlushNote } from '../../src/store/flush-log.ts'
import { toRequestId } from './calls.ts'

export type Line =
  /** The master key is in use. */
  | { readonly did: 'key'; readonly hex: string }
  | { readonly did: 'open'; readonly instance: string; readonly commits: number }
  /** Records up to `sequence` are handed to the writer; then they are safe, as its caller understands it. */
  | { readonly did: 'offer' | 'safe'; readonly prefix: string; readonly sequence: number }
  /** The writer's timer rang; then the sync that it began is over. */
  | { readonly did: 'tick' | 'ticked' }
  /** The store, which loses nothing here, was told of a flush: of its range, and when its rows are there. */
  | { readonly did: 'note'; readonly note: FlushNote }
  /** It was given rows. */
  | { readonly did: 'store'; readonly token: string; readonly ids: readonly string[] }
  /** A flush is about to be noted; then its position is committed. */
  | { readonly did: 'begin'; readonly to: string }
  | { readonly did: 'flushed' }
  /** A commit of `writes` documents to the registry is about to happen; then it has. */
  | { readonly did: 'commit'; readonly number: number; readonly writes: number }
  | { readonly did: 'committed'; readonly number: number }
  /** An event of a risk is about to be committed; then it is. */
  | { readonly did: 'risk' | 'risked'; readonly number: number }

export interface Promises {
  key: string | null
  instance: string | null
  /** By prefix of request ids the last sequence. */
  readonly offered: Map<string, number>
  readonly safe: Map<string, number>
  /** As `safe` was when the last completed sync was asked for. */
  readonly synced: Map<string, number>
  /** Ids that were found after an earlier cut. */
  readonly kept: Set<string>
  /** Rows by their token; a second insert under a token changes nothing. */
  readonly stored: Map<string, readonly string[]>
  /** By number of the flush, what was noted last. */
  readonly notes: Map<number, FlushNote>
  /** Positions of flushes that were begun, in order, and how many of them were committed. */
  readonly begun: string[]
  flushed: number
  /** Commits that were tried, in order, and how many of them were answered. */
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
        // What was tried before and is not there now will not come back.
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
