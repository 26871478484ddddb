/** Entry point of a lint thread: executes the jobs of the linter. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { handles, serveJobs } from '../../../foundation/jobs/serve-jobs.ts'
import type { Comparison } from '../compare/change.ts'
import { POLICY_RULES } from '../compare/policy-rules.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import type { JudgedSpecification } from '../specification.ts'
import { lintServable, lintUnservable, OWN_RULES, readToLint, type LintResult } from './lint.ts'
import { LINT, RULESET, type LintReport, type LintRequest } from './lint-messages.ts'

const RULE_NAMES: ReadonlySet<string> = new Set([...OWN_RULES.map(({ id }) => id), ...POLICY_RULES.keys()])

serveJobs([handles(LINT, lintDocument), handles(RULESET, faultsOf)])

/** The report without the Spectral rules is the partial answer: it holds if they do not finish in time. */
async function lintDocument(request: LintRequest, onPartial: (report: LintReport) => void): Promise<LintReport> {
  const { specification, previous, ruleset, findingsMax } = request
  const read = await readToLint(specification)
  if ('faults' in read) return { ...lintUnservable(specification, read.faults, findingsMax), changes: [] }
  const { changes } = previous === null ? { changes: [] } : await compare(previous, specification, read, ruleset)
  const onOwnResult = (partial: LintResult): void => onPartial({ ...partial, changes })
  const result = await lintServable(specification, read, ruleset, { onOwnResult, findingsMax })
  return { ...result, changes }
}

/** Loads the validator of schemas only if there is a version to compare with. */
async function compare(
  previous: Uint8Array,
  bytes: Uint8Array,
  next: JudgedSpecification,
  ruleset: RulesetDocument,
): Promise<Comparison> {
  const { compareVersions } = await import('./compare-versions.ts')
  return compareVersions(previous, bytes, next, ruleset)
}

async function faultsOf(ruleset: RulesetDocument): Promise<readonly ProblemPointer[]> {
  const { faultsOfRuleset } = await import('../spectral/engine.ts')
  return faultsOfRuleset(ruleset, RULE_NAMES)
}
