/** One pair of operations in the two documents, and where to report and compare their parts. */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'
import type { WorkBudget } from '../containment/work-budget.ts'
import type { Report } from './change.ts'
import type { Sameness } from './sameness.ts'
import type { SchemaComparison } from './schema-comparison.ts'

/** The documents, and the reports and comparisons of one pair of operations. */
export interface Sides {
  readonly previous: Fields
  readonly next: Fields
  /** Reports a change of the pair. */
  readonly report: Report
  readonly requests: SchemaComparison
  readonly responses: SchemaComparison
  /** For bodies of requests that the gateway does not validate. */
  readonly unvalidated: SchemaComparison
  /** For bodies of responses that the gateway does not compare with their schema. */
  readonly unwatched: SchemaComparison
  readonly sameness: Sameness
  readonly budget: WorkBudget
  readonly nowMs: number
  /** Names the pair in reports, such as `POST /things`. */
  readonly operation: string
}

const REFERENCES_MAX = 16

/** Follows references to the object itself and its place. */
export function follow(document: Fields, value: unknown, pointer: string): { fields: Fields; pointer: string } {
  let [fields, at] = [fieldsOf(value), pointer]
  for (let count = 0; typeof fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
    at = fields['$ref'].slice(1)
    fields = fieldsOf(resolvePointer(document, fields['$ref']))
  }
  return { fields, pointer: at }
}
