/** Entry point of the lint thread: lints one document or ruleset at a time, and replies with the id of the request. */

import { parentPort } from 'node:worker_threads'
import type { Specification } from '../specification.ts'
import { POLICY_RULES } from '../compare/change-rules.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import { lintServable, lintUnservable, OWN_RULES, readToLint, type LintResult } from './lint.ts'
import type { LintRequest, LintResponse } from './lint-messages.ts'

const RULE_NAMES: ReadonlySet<string> = new Set([...OWN_RULES.map(({ id }) => id), ...POLICY_RULES.keys()])

parentPort?.on('message', (request: LintRequest) => {
  const { id } = request
  void respond(request).then(
    (response) => parentPort?.postMessage(response),
    (cause: unknown) => parentPort?.postMessage({ id, failure: String(cause) } satisfies LintResponse),
  )
})

async function respond(request: LintRequest): Promise<LintResponse> {
  const { id, specification, previous, ruleset, findingsMax, comparesOnly = false } = request
  if (specification === null) return { id, faults: await faultsOf(ruleset) }
  const read = await readToLint(specification)
  if ('faults' in read)
    return { id, report: { ...lintUnservable(specification, read.faults, findingsMax), changes: [] } }
  const comparison = previous === null ? { changes: [] } : await compare(previous, specification, read, ruleset)
  if (comparesOnly && 'serverUrl' in comparison) return { id, comparison }
  const { changes } = comparison
  const onOwnResult = (partial: LintResult): void =>
    parentPort?.postMessage({ id, partial: { ...partial, changes } } satisfies LintResponse)
  const result = await lintServable(specification, read, ruleset, { onOwnResult, findingsMax })
  return { id, report: { ...result, changes } }
}

/** Loads the validator of schemas only if there is a version to compare with. */
async function compare(previous: Uint8Array, bytes: Uint8Array, next: Specification, ruleset: RulesetDocument) {
  const { compareVersions } = await import('./compare-versions.ts')
  return compareVersions(previous, bytes, next, ruleset)
}

async function faultsOf(ruleset: RulesetDocument) {
  const { faultsOfRuleset } = await import('../spectral/engine.ts')
  return faultsOfRuleset(ruleset, RULE_NAMES)
}
