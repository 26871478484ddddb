/** One lint rule of our own. */

import type { FindingCategory, FindingSeverity } from '../finding.ts'
import type { LintDocument } from './lint-document.ts'

export interface Rule {
  readonly id: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly message: string
  readonly advice: string
  /** Places that the density of its findings is relative to: paths, or request schemas of a type; operations if it is not given. */
  readonly per?: 'path' | 'string' | 'array' | 'integer' | 'object'
  /** Yields each violation: a pointer, with its own message if the rule's is not specific enough. */
  find(document: LintDocument): Iterable<string | { readonly pointer: string; readonly message: string }>
}
