/** Positions of the spool, compared with each other and with what the spool holds. */

import type { SpoolPosition } from '../store/checkpoint.ts'

type Place = SpoolPosition[string]

/** The same bytes; whatever else a position carries does not count. */
export function isSamePosition(a: SpoolPosition, b: SpoolPosition): boolean {
  const sources = Object.keys(a)
  return sources.length === Object.keys(b).length && sources.every((source) => isSamePlace(a[source], b[source]))
}

/**
 * A position from which a reader that stood at `from` can go on: the same place in each source if the spool holds the records
 * from there on, else the place of `floor`, before which everything is stored.
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
