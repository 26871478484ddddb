/** The messages between the linter and its thread. */

import type { ProblemPointer } from '../../domain/problem.ts'
import type { Comparison, PlacedChange } from '../compare/change.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import type { LintResult } from './lint.ts'

export interface LintReport extends LintResult {
  /** Changes since the previous version, if one was given; breaking changes first. */
  readonly changes: readonly PlacedChange[]
}

export interface LintRequest {
  readonly id: number
  /** Null: checks the ruleset only. */
  readonly specification: Uint8Array | null
  readonly previous: Uint8Array | null
  readonly ruleset: RulesetDocument
  readonly findingsMax: number
  /** True: compares the documents and applies no rules. */
  readonly comparesOnly?: boolean | undefined
}

export type LintResponse =
  /** The report that holds if the Spectral rules do not finish in time. */
  | { readonly id: number; readonly partial: LintReport }
  | { readonly id: number; readonly failure: string }
  | LintOutcome

export type LintOutcome =
  | { readonly id: number; readonly report: LintReport }
  | { readonly id: number; readonly comparison: Comparison }
  | { readonly id: number; readonly faults: readonly ProblemPointer[] }
