import { describe, expect, it } from 'vitest'
import { compare, type Comparison, type Verdict } from '../../../../src/storage/recovery/compare.ts'
import type { StoreClaims } from '../../../../src/storage/recovery/store-claims.ts'
import type { CheckpointClaims, PendingFlush } from '../../../../src/storage/store/checkpoint.ts'
import type { FlushNote } from '../../../../src/storage/store/flush-log.ts'

/** Flush `n` covers the bytes from `100 n - 100` to `100 n` of one segment. */
const at = (flush: number) => ({ 'gateway-0': { segment: 5, offset: flush * 100 } })

const note = (number: number, changes: Partial<FlushNote> = {}): FlushNote => ({
  instance: 'here',
  number,
  from: at(number - 1),
  to: at(number),
  isDone: true,
  atMs: 0,
  totals: {},
  registryEnd: 7,
  ...changes,
})

const pending = (number: number): PendingFlush => ({ number, from: at(number - 1), to: at(number), tokens: 'range' })

const claims = (flushes: number, changes: Partial<CheckpointClaims> = {}): CheckpointClaims => ({
  instance: 'here',
  flushes,
  position: flushes === 0 ? {} : at(flushes),
  pending: null,
  isNoted: flushes > 0,
  registryEnd: 7,
  wentBackBy: 0,
  ...changes,
})

const store = (last: FlushNote | null, changes: Partial<StoreClaims> = {}): StoreClaims => ({
  isNew: false,
  hasRows: last !== null,
  last,
  others: [],
  next: null,
  notedAfter: 0,
  missing: [],
  excess: [],
  differing: [],
  isExact: true,
  ...changes,
})

function verdict(
  checkpoint: CheckpointClaims,
  storeClaims: StoreClaims,
  changes: Partial<Omit<Comparison, 'checkpoint' | 'store'>> = {},
): Verdict {
  return compare({
    checkpoint,
    store: storeClaims,
    riskPosition: checkpoint.position,
    limitPosition: checkpoint.position,
    levelPosition: null,
    holds: () => true,
    isKnown: true,
    ...changes,
  })
}

const NOTHING_HELD = { holds: () => false }

describe('checkpoint and store', () => {
  it.each<[string, CheckpointClaims, StoreClaims]>([
    ['are both new', claims(0), store(null, { isNew: true })],
    ['were written by a version without notes', claims(9, { isNoted: false }), store(null, { hasRows: true })],
    ['are at the same flush', claims(3), store(note(3))],
    ['were interrupted before the note', claims(3, { pending: pending(4) }), store(note(3))],
    ['were interrupted before the rows', claims(3, { pending: pending(4) }), store(note(4, { isDone: false }))],
    ['were interrupted before the commit', claims(3, { pending: pending(4) }), store(note(4))],
  ])('agree if they %s', (_, checkpoint, storeClaims) => {
    expect(verdict(checkpoint, storeClaims)).toEqual({ kind: 'agreed' })
  })

  it.each<[string, 'store' | 'checkpoint', CheckpointClaims, StoreClaims]>([
    ['the store was emptied', 'store', claims(3), store(null, { isNew: true })],
    [
      'the store was emptied under an earlier version',
      'store',
      claims(3, { isNoted: false }),
      store(null, { isNew: true }),
    ],
    ['rows are missing', 'store', claims(3), store(note(3), { missing: ['1 of 2 rows'] })],
    ['rows exist that no flush noted', 'store', claims(3), store(note(3), { excess: ['1 rows'] })],
    [
      'such rows are there, and the checkpoint is behind',
      'store',
      claims(2),
      store(note(3), { next: note(3), notedAfter: 1, excess: ['1 rows'] }),
    ],
    ['the same flush has another range', 'checkpoint', claims(3), store(note(3, { to: at(9) }))],
    [
      'flushes do not continue at the checkpoint',
      'checkpoint',
      claims(3),
      store(note(5), { next: note(4, { from: at(2) }), notedAfter: 2 }),
    ],
    ['a flush in between is missing', 'checkpoint', claims(3), store(note(6), { next: note(4), notedAfter: 2 })],
    [
      'the note after the checkpoint is missing',
      'checkpoint',
      claims(3),
      store(note(5), { next: note(5), notedAfter: 1 }),
    ],
  ])('refuse the start if %s', (_, part, checkpoint, storeClaims) => {
    expect(verdict(checkpoint, storeClaims)).toMatchObject({ kind: 'refused', part })
  })

  it('refuse the start if the checkpoint is empty beside a store with flushes, but not in a known folder', () => {
    const other = store(null, { others: [note(8, { instance: 'there' })], hasRows: true })
    expect(verdict(claims(0), other, { isKnown: false })).toMatchObject({ kind: 'refused', part: 'checkpoint' })
    expect(verdict(claims(0), other, { isKnown: true })).toEqual({ kind: 'agreed' })
  })
})

describe('a checkpoint that is an older copy', () => {
  const ahead = store(note(5), { next: note(4), notedAfter: 2 })

  it('continues after the last flush of the store', () => {
    expect(verdict(claims(3, { pending: pending(4) }), ahead)).toMatchObject({
      kind: 'repaired',
      behind: 'checkpoint',
      repair: { flushes: 5, position: at(5), pending: null, isNoted: true },
    })
  })

  it('repeats the last flush if its rows may be missing and the spool holds its records', () => {
    const cutOff = store(note(5, { isDone: false }), { next: note(4), notedAfter: 2 })
    expect(verdict(claims(3), cutOff)).toMatchObject({
      kind: 'repaired',
      repair: { flushes: 4, position: at(4), pending: pending(5) },
    })
    expect(verdict(claims(3), cutOff, NOTHING_HELD)).toMatchObject({ kind: 'refused', part: 'checkpoint' })
  })

  it('recomputes limits and risks from the spool, and reports if the spool lacks their calls', () => {
    const kept = verdict(claims(3), ahead, { limitPosition: at(2), levelPosition: at(1) })
    expect(kept).toMatchObject({ repair: { riskPosition: at(3), limitPosition: at(2), levelPosition: at(1) } })
    const lost = verdict(claims(3), ahead, { limitPosition: at(2), levelPosition: at(1), ...NOTHING_HELD })
    expect(lost).toMatchObject({
      repair: { riskPosition: at(5), limitPosition: at(5), levelPosition: at(5) },
      sentence: expect.stringContaining('lack the calls of that period') as string,
    })
  })

  it('never moves limits ahead of risks', () => {
    const holds = (_: string, { offset }: { offset: number }) => offset >= 300
    expect(verdict(claims(3), ahead, { limitPosition: at(2), holds })).toMatchObject({
      repair: { riskPosition: at(3), limitPosition: at(3) },
    })
  })
})

describe('a store that is an older copy', () => {
  it('is filled again from the spool if that holds every record since', () => {
    expect(verdict(claims(5), store(note(3)))).toMatchObject({
      kind: 'repaired',
      behind: 'store',
      repair: { flushes: 3, position: at(3), pending: null, riskPosition: at(5) },
    })
    expect(verdict(claims(5), store(note(3, { isDone: false })))).toMatchObject({
      repair: { flushes: 2, position: at(2), pending: pending(3) },
    })
  })

  it('repeats a flush that the checkpoint counts and the store has not marked as done', () => {
    expect(verdict(claims(3), store(note(3, { isDone: false })))).toMatchObject({
      kind: 'repaired',
      repair: { flushes: 2, pending: pending(3) },
    })
  })

  it('is refused if the spool lacks records, if a source is unknown to it, or if it holds other rows', () => {
    expect(verdict(claims(5), store(note(3)), NOTHING_HELD)).toMatchObject({ kind: 'refused', part: 'store' })
    const twoSources = { ...at(5), platform: { segment: 1, offset: 0 } }
    expect(verdict(claims(5, { position: twoSources }), store(note(3)))).toMatchObject({
      kind: 'refused',
      part: 'store',
    })
    expect(verdict(claims(5), store(note(3), { isExact: false }))).toMatchObject({ kind: 'refused', part: 'store' })
  })
})
