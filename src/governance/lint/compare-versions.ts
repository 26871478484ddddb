/** Compares a version with the bytes of the previous one; an unreadable previous version is reported as a change. */

import { Problem } from '../../domain/problem.ts'
import { compareDocuments, type Change } from '../compare/compare-documents.ts'
import { systemClock } from '../../runtime/clock.ts'
import { readJudged, type JudgedSpecification } from '../specification.ts'

export async function compareVersions(previous: Uint8Array, next: JudgedSpecification): Promise<readonly Change[]> {
  let before: JudgedSpecification
  try {
    before = readJudged(previous)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const [first] = cause.errors
    const message = `The previous document cannot be read, so nothing was compared: ${first?.detail ?? cause.message}`
    const pointer = first?.pointer ?? ''
    return [{ id: 'previous.invalid', level: 'warning', pointer, previousPointer: pointer, message, operations: [] }]
  }
  return compareDocuments(before, next, systemClock.nowMs())
}
