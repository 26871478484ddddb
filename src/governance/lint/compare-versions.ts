/** What differs between the bytes of two versions; an earlier one that cannot be read is told as such. */

import { Problem } from '../../domain/problem.ts'
import { compareDocuments, type Change } from '../compare/compare-documents.ts'
import { systemClock } from '../../runtime/clock.ts'
import { readSpecification, type Specification } from '../specification.ts'

export async function compareVersions(previous: Uint8Array, next: Uint8Array): Promise<readonly Change[]> {
  let before: Specification
  try {
    before = await readSpecification(previous)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const [first] = cause.errors
    const message = `The previous document cannot be compared with: ${first?.detail ?? cause.message}`
    return [{ id: 'previous.invalid', level: 'warning', pointer: first?.pointer ?? '', message }]
  }
  return compareDocuments(before, await readSpecification(next), systemClock.nowMs())
}
