/** One lint rule of our own. */

import type { FindingCategory, FindingSeverity } from '../finding.ts'
import type { LintDocument } from './lint-document.ts'

export interface Rule {
  readonly id: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly message: string
  readonly advice: string
  /** Yields each violation: a pointer, with its own message if the rule's is not specific enough. */
  find(document: LintDocument): Iterable<string | { readonly pointer: string; readonly message: string }>
}
