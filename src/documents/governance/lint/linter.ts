/** Lints documents on worker threads, so that the main thread stays responsive. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { createThreadPool, type ThreadPoolOptions } from '../../../foundation/jobs/thread-pool.ts'
import { FINDINGS_MAX } from '../finding.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../ruleset-document.ts'
import { LINT, RULESET, type LintReport } from './lint-messages.ts'

export type { LintReport } from './lint-messages.ts'

export interface Linter {
  /** Throws `Problem('unavailable')` if the queue is full, `Problem('specification_invalid')` beyond the deadline or memory limit. */
  lint(
    specification: Uint8Array,
    previous?: Uint8Array | null,
    ruleset?: RulesetDocument,
    tenant?: string,
    deadlineMs?: number,
  ): Promise<LintReport>
  /** Returns the faults of a ruleset. Throws like `lint`. */
  checkRuleset(ruleset: RulesetDocument, tenant?: string): Promise<readonly ProblemPointer[]>
  /** Ends the threads. */
  close(): Promise<void>
}

export interface LinterOptions extends Omit<ThreadPoolOptions, 'entry'> {
  readonly deadlineMs?: number
  /** A cap on the findings of a report; the rest is counted. */
  readonly findingsMax?: number
}

/** A last resort: the work is bounded by what is visited, which takes some 10 s at most on an idle machine. */
const DEADLINE_MS = 60_000

export function createLinter(options: LinterOptions): Linter {
  const { deadlineMs: defaultMs = DEADLINE_MS, findingsMax = FINDINGS_MAX } = options
  const pool = createThreadPool({ ...options, entry: new URL('./lint-thread.ts', import.meta.url) })
  return {
    lint: (specification, previous = null, ruleset = EMPTY_RULESET, tenant, deadlineMs = defaultMs) =>
      pool.run(LINT, { specification, previous, ruleset, findingsMax }, { tenant, deadlineMs }),
    checkRuleset: (ruleset, tenant) => pool.run(RULESET, ruleset, { tenant, deadlineMs: defaultMs }),
    close: pool.close,
  }
}
