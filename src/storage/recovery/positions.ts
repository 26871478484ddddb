/** Compares positions of the spool with each other and with the segments that still exist. */

import type { SpoolPosition } from '../store/checkpoint.ts'

type Place = SpoolPosition[string]

/** Whether both positions name the same bytes; other fields are ignored. */
export function isSamePosition(a: SpoolPosition, b: SpoolPosition): boolean {
  const sources = Object.keys(a)
  return sources.length === Object.keys(b).length && sources.every((source) => isSamePlace(a[source], b[source]))
}

/**
 * Returns the position from which a reader at `from` can continue. Each source keeps its place if the spool still holds the
 * records after it, and moves to the place in `floor` otherwise. Everything before `floor` is stored.
 */
export function forward(
  from: SpoolPosition,
  floor: SpoolPosition,
  holds: (source: string, place: Place) => boolean,
): { readonly position: SpoolPosition; readonly isKept: boolean } {
  const position: Record<string, Place> = { ...from }
  let isKept = true
  for (const [source, least] of Object.entries(floor)) {
    const place = from[source]
    if (place !== undefined && (!isEarlier(place, least) || holds(source, place))) continue
    position[source] = least
    isKept = false
  }
  return { position, isKept }
}

function isEarlier(a: Place, b: Place): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

function isSamePlace(a: Place | undefined, b: Place | undefined): boolean {
  return a?.segment === b?.segment && a?.offset === b?.offset
}
