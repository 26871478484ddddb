/**
 * Reports each record that is missing from the spool once.
 *
 * Several consumers read the spool at different positions, and a crash makes them read a range again. Records are numbered per
 * source, so missing records form an interval of numbers. Only the part of the interval that was neither reported earlier nor
 * billed before this process started is reported.
 */

import type { SpoolPosition } from '../store/checkpoint.ts'
import { mergeDamage, type Damage, type OnDamage } from './damage.ts'

export interface MissingRecords {
  /** Records `[from, to)` of a source. */
  numbered(source: string, place: Place, from: number, to: number, isExact: boolean): void
  /** At least `records` records with unknown numbers; reported once per `key`. */
  unnumbered(key: string, place: Place, records: number): void
  /** A damaged file that costs no record; reported once per `key`. */
  harmless(key: string, place: Place): void
  /** Reports the findings since the last call, merged per file. */
  flush(): void
}

export type Place = Pick<Damage, 'file' | 'what' | 'fromMs' | 'toMs'>

/** Up to this many files are reported one by one; more are merged into one report. */
const FILES_MAX = 8

type Interval = readonly [from: number, to: number]

export function createMissingRecords(billed: SpoolPosition, onDamage: OnDamage): MissingRecords {
  const reported = new Map<string, readonly Interval[]>()
  const keys = new Set<string>()
  const found = new Map<string, Damage>()

  function add(damage: Damage): void {
    const before = found.get(damage.file)
    if (before === undefined || isHarmless(before)) found.set(damage.file, damage)
    else if (!isHarmless(damage)) found.set(damage.file, mergeDamage(before, damage))
  }

  function once(key: string, damage: Damage): void {
    if (keys.has(key)) return
    keys.add(key)
    add(damage)
  }

  return {
    numbered(source, place, from, to, isExact) {
      const billedTo = billed[source]?.records ?? 0
      if (to <= billedTo) return once(`${source} ${from}`, { ...place, records: 0, isExact: true })
      const known = reported.get(source) ?? [[0, billedTo]]
      const records = to - from - covered(known, [from, to])
      reported.set(source, union(known, [from, to]))
      if (records > 0) add({ ...place, fromMs: earlier(place), records, isExact })
    },
    unnumbered: (key, place, records) => once(key, { ...place, records, isExact: false }),
    harmless: (key, place) => once(key, { ...place, records: 0, isExact: true }),
    flush() {
      if (found.size === 0) return
      const damages = [...found.values()]
      found.clear()
      const first = damages[0]!
      if (damages.length <= FILES_MAX) damages.forEach(onDamage)
      else onDamage({ ...damages.reduce(mergeDamage), file: `${first.file} and ${damages.length - 1} other files` })
    },
  }
}

/** The last record that was read may be later than the gap, because another consumer is ahead. */
function earlier({ fromMs, toMs }: Place): number | null {
  return fromMs === null || toMs === null ? fromMs : Math.min(fromMs, toMs)
}

const isHarmless = ({ records, isExact }: Damage): boolean => records === 0 && isExact

/** Numbers of `interval` that lie in `intervals`, which do not overlap. */
function covered(intervals: readonly Interval[], [from, to]: Interval): number {
  return intervals.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from)), 0)
}

function union(intervals: readonly Interval[], added: Interval): readonly Interval[] {
  const merged: Interval[] = []
  for (const next of [...intervals, added].sort(([a], [b]) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && next[0] <= last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], next[1])]
    else merged.push(next)
  }
  return merged
}
