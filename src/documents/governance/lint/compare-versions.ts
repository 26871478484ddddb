/** Compares two versions of a document from their bytes; an unreadable previous version is reported as a change. */

import { Problem } from '../../../foundation/domain/problem.ts'
import { systemClock } from '../../../foundation/runtime/clock.ts'
import { compareDocuments } from '../compare/compare-documents.ts'
import { PREVIOUS_INVALID, type Change, type Comparison, type PlacedChange } from '../compare/change.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../ruleset-document.ts'
import { readJudged, type JudgedSpecification } from '../specification.ts'
import { findPlaces, type PlaceOf } from './places.ts'

/** `next` is the specification that `bytes` hold. */
export async function compareVersions(
  previous: Uint8Array,
  bytes: Uint8Array,
  next: JudgedSpecification,
  ruleset: RulesetDocument = EMPTY_RULESET,
  nowMs = systemClock.nowMs(),
): Promise<Comparison> {
  let before: JudgedSpecification
  try {
    before = readJudged(previous)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const [first] = cause.errors
    const message = `The previous document cannot be read, so nothing was compared: ${first?.detail ?? cause.message}`
    const places = { pointer: first?.pointer ?? '', previousPointer: null, line: 1, column: 1 }
    const nowhere = { previousLine: null, previousColumn: null }
    const change = { id: PREVIOUS_INVALID, level: 'warning', message, operations: [], ...places, ...nowhere } as const
    return { changes: [change], serverUrl: null }
  }
  const changes = compareDocuments(before, next, nowMs, { ruleset })
  const placeBefore = placesIn(
    previous,
    before,
    changes.flatMap(({ previousPointer }) => (previousPointer === null ? [] : [previousPointer])),
  )
  const placeAfter = placesIn(
    bytes,
    next,
    changes.map(({ pointer }) => pointer),
  )
  return { changes: changes.map((change) => toPlaced(change, placeBefore, placeAfter)), serverUrl: before.serverUrl }
}

function placesIn(bytes: Uint8Array, { mediaType }: JudgedSpecification, pointers: readonly string[]): PlaceOf {
  return findPlaces(new TextDecoder().decode(bytes), mediaType === 'application/json', pointers)
}

function toPlaced(change: Change, placeBefore: PlaceOf, placeAfter: PlaceOf): PlacedChange {
  const { pointer, previousPointer } = change
  const before = previousPointer === null ? null : placeBefore(previousPointer)
  return {
    ...change,
    ...placeAfter(pointer),
    previousLine: before?.line ?? null,
    previousColumn: before?.column ?? null,
  }
}
