/**
 * Compares the progress of the checkpoint with that of the store.
 *
 * Both number the flushes and record the spool range of each. If they disagree, the result is a repair when the range in the store is
 * certain, and a refusal otherwise: the bill must contain every call exactly once.
 */

import type { CheckpointClaims, CheckpointRepair, SpoolPosition } from '../store/checkpoint.ts'
import type { FlushNote } from '../store/flush-log.ts'
import type { StoreClaims } from './store-claims.ts'
import { forward, isSamePosition } from './positions.ts'

export interface Comparison {
  readonly checkpoint: CheckpointClaims
  readonly riskPosition: SpoolPosition
  readonly limitPosition: SpoolPosition
  /** Null: no service level was evaluated yet. */
  readonly levelPosition: SpoolPosition | null
  readonly store: StoreClaims
  /** Whether the spool still holds every record of a source from `place` on. */
  readonly holds: (source: string, place: SpoolPosition[string]) => boolean
  /** True if the data folder was empty before this start, or if its manifest names the instance of this checkpoint. */
  readonly isKnown: boolean
}

export type Verdict =
  | { readonly kind: 'agreed' }
  | {
      readonly kind: 'repaired'
      /** Which of the two is the older one. */
      readonly behind: 'checkpoint' | 'store'
      readonly repair: CheckpointRepair
      readonly sentence: string
    }
  | { readonly kind: 'refused'; readonly part: 'checkpoint' | 'store'; readonly sentence: string }

const AGREED: Verdict = { kind: 'agreed' }

export function compare(comparison: Comparison): Verdict {
  const { checkpoint, store } = comparison
  const { last } = store
  if (last === null) return withoutNotes(comparison)
  if (store.missing.length > 0) return refused('store', `rows of the store are missing: ${store.missing.join(', ')}`)
  if (store.excess.length > 0) {
    return refused(
      'store',
      `the store holds rows that no flush recorded, as in a copy of a running folder: ${store.excess.join(', ')}; their calls would be billed twice`,
    )
  }
  if (store.differing.length > 0) {
    return refused(
      'store',
      `the line items of the store do not add up to its hourly totals: ${store.differing.join('; ')}; a part of one of them was lost or replaced`,
    )
  }
  if (last.number < checkpoint.flushes || (last.number === checkpoint.flushes && !last.isDone)) {
    return storeIsBehind(comparison, last)
  }
  if (last.number === checkpoint.flushes) {
    if (isSamePosition(last.to, checkpoint.position)) return AGREED
    return refused(
      'checkpoint',
      `checkpoint.db and the store record different ranges of the spool for flush ${last.number}`,
    )
  }
  if (isPending(checkpoint, last)) return AGREED
  return checkpointIsBehind(comparison, last)
}

/** Verdict if the store has no note of any flush of this checkpoint. */
function withoutNotes({ checkpoint, store, isKnown }: Comparison): Verdict {
  const { flushes } = checkpoint
  if (checkpoint.isNoted) {
    return refused(
      'store',
      `the store holds none of the ${flushes} flushes that checkpoint.db records: the store was emptied or replaced`,
    )
  }
  if (flushes > 0) {
    if (!store.isNew) return AGREED
    return refused('store', `the store is empty, but checkpoint.db records ${flushes} flushes`)
  }
  if (store.others.length > 0 && !isKnown) {
    const held = store.others.map(({ number }) => number).join(', ')
    return refused(
      'checkpoint',
      `checkpoint.db is empty or belongs to another data folder, but the store holds flushes up to number ${held}`,
    )
  }
  if (store.others.length === 0 && store.hasRows && !isKnown) {
    return refused('checkpoint', 'checkpoint.db is empty, but the store holds rows')
  }
  return AGREED
}

/** True after a crash between the store's note of a flush and the commit of the checkpoint: the flush will be repeated. */
function isPending({ flushes, pending }: CheckpointClaims, last: FlushNote): boolean {
  return (
    pending !== null &&
    last.number === flushes + 1 &&
    pending.number === last.number &&
    isSamePosition(pending.from, last.from) &&
    isSamePosition(pending.to, last.to)
  )
}

function checkpointIsBehind(comparison: Comparison, last: FlushNote): Verdict {
  const { checkpoint, store, holds } = comparison
  const { flushes } = checkpoint
  const count = last.number - flushes
  const isContiguous =
    store.next !== null && isSamePosition(store.next.from, checkpoint.position) && store.notedAfter === count
  const behind = `checkpoint.db is behind the store by ${count} flushes`
  if (!isContiguous)
    return refused('checkpoint', `${behind}, and those flushes do not continue where checkpoint.db ends`)
  const missing = Object.entries(last.from).filter(([source, place]) => !holds(source, place))
  if (!last.isDone && missing.length > 0) {
    return refused('checkpoint', `${behind}, and the spool lacks the records of the last one`)
  }
  return toFlush(comparison, last, 'checkpoint', `${behind}; continuing from the position recorded in the store`)
}

function storeIsBehind(comparison: Comparison, last: FlushNote): Verdict {
  const { checkpoint, store, holds } = comparison
  const from = last.isDone ? last.to : last.from
  const sources = Object.keys(checkpoint.position)
  const isHeld = sources.every((source) => from[source] !== undefined && holds(source, from[source]))
  const since = new Date(last.atMs).toISOString()
  const behind = `the store is behind checkpoint.db by ${Math.max(1, checkpoint.flushes - last.number)} flushes (its last flush was at ${since})`
  if (!store.isExact) return refused('store', `${behind}, and its row counts do not match its flushes`)
  if (!isHeld) return refused('store', `${behind}, and the spool no longer holds their records`)
  return toFlush(comparison, last, 'store', `${behind}; storing them again from the spool`)
}

/** Continues after `last`, or repeats it if some of its rows may be missing. */
function toFlush(comparison: Comparison, last: FlushNote, behind: 'checkpoint' | 'store', sentence: string): Verdict {
  const { repair, isLossless } = repairTo(comparison, last)
  const lost = isLossless
    ? 'limit counters and risks are recomputed from the spool'
    : 'limit counters and risks lack the calls of that period'
  return { kind: 'repaired', behind, repair, sentence: `${sentence}; ${lost}` }
}

export function repairTo(
  { checkpoint, holds, ...positions }: Omit<Comparison, 'store' | 'isKnown'>,
  last: FlushNote,
): { readonly repair: CheckpointRepair; readonly isLossless: boolean } {
  const { instance, number, from, to, isDone } = last
  const position = isDone ? to : from
  const risk = forward(positions.riskPosition, position, holds)
  const limit = forward(positions.limitPosition, risk.position, holds)
  const level = positions.levelPosition === null ? null : forward(positions.levelPosition, risk.position, holds)
  const repair: CheckpointRepair = {
    instance,
    flushes: isDone ? number : number - 1,
    position,
    pending: isDone ? null : { number, from, to, tokens: 'range' },
    isNoted: true,
    registryEnd: Math.max(checkpoint.registryEnd, last.registryEnd),
    riskPosition: risk.position,
    limitPosition: limit.position,
    levelPosition: level?.position ?? null,
  }
  return { repair, isLossless: risk.isKept && limit.isKept && (level?.isKept ?? true) }
}

function refused(part: 'checkpoint' | 'store', sentence: string): Verdict {
  return { kind: 'refused', part, sentence }
}
