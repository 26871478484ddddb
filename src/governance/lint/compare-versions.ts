/** What differs between a version and the bytes of an earlier one; one that cannot be read is told as such. */

import { Problem } from '../../domain/problem.ts'
import { compareDocuments, type Change } from '../compare/compare-documents.ts'
import { systemClock } from '../../runtime/clock.ts'
import { readSpecification, type Specification } from '../specification.ts'

export async function compareVersions(previous: Uint8Array, next: Specification): Promise<readonly Change[]> {
  let before: Specification
  try {
    before = await readSpecification(previous)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const [first] = cause.errors
    const message = `The previous document cannot be compared with: ${first?.detail ?? cause.message}`
    return [{ id: 'previous.invalid', level: 'warning', pointer: first?.pointer ?? '', message }]
  }
  return compareDocuments(before, next, systemClock.nowMs())
}
