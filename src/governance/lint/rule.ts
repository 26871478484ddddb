/** A rule that a document is held to. */

import type { FindingCategory, FindingSeverity } from '../finding.ts'
import type { LintDocument } from './lint-document.ts'

export interface Rule {
  readonly id: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly message: string
  readonly advice: string
  /** Where it is broken: pointers, or pointers with a message of their own. */
  find(document: LintDocument): Iterable<string | { readonly pointer: string; readonly message: string }>
}
