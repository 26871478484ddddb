/** The jobs of the linter: judging a document, and checking a ruleset. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { jobKind } from '../../../foundation/jobs/job-kind.ts'
import type { PlacedChange } from '../compare/change.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import type { LintResult } from './lint.ts'

export interface LintReport extends LintResult {
  /** Changes since the previous version, if one was given; breaking changes first. */
  readonly changes: readonly PlacedChange[]
}

export interface LintRequest {
  readonly specification: Uint8Array
  readonly previous: Uint8Array | null
  readonly ruleset: RulesetDocument
  readonly findingsMax: number
}

export const LINT = jobKind<LintRequest, LintReport>('lint')
export const RULESET = jobKind<RulesetDocument, readonly ProblemPointer[]>('ruleset')
