/** Compares and combines positions in the spool. */

import type { SpoolPlace, SpoolPosition } from '../store/checkpoint.ts'

/** Whether both positions are at the same place of every source. */
export function isSame(a: SpoolPosition, b: SpoolPosition): boolean {
  const sources = Object.keys(a)
  return sources.length === Object.keys(b).length && sources.every((source) => isSamePlace(a[source], b[source]))
}

/** Whether everything before `a` is also before `b`. */
export function isWithin(a: SpoolPosition, b: SpoolPosition): boolean {
  return Object.entries(a).every(([source, place]) => {
    const other = b[source]
    return other !== undefined && !isEarlier(other, place)
  })
}

/** The later place of each source that is in at least one of the positions. */
export function laterOf(a: SpoolPosition, b: SpoolPosition): SpoolPosition {
  const later = Object.entries(b).filter(([source, place]) => {
    const other = a[source]
    return other === undefined || isEarlier(other, place)
  })
  return { ...a, ...Object.fromEntries(later) }
}

/** The earlier place of each source that is in both positions. */
export function earlierOf(a: SpoolPosition, b: SpoolPosition): SpoolPosition {
  return Object.fromEntries(
    Object.entries(a).flatMap(([source, mine]) => {
      const other = b[source]
      if (other === undefined) return []
      return [[source, isEarlier(mine, other) ? mine : other] as const]
    }),
  )
}

type Place = SpoolPlace

function isEarlier(a: Place, b: Place): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

function isSamePlace(a: Place | undefined, b: Place | undefined): boolean {
  return a?.segment === b?.segment && a?.offset === b?.offset
}
