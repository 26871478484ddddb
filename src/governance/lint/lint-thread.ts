/** Entry point of the lint thread: lints one document or ruleset at a time, and replies with the id of the request. */

import { parentPort } from 'node:worker_threads'
import type { Specification } from '../specification.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import { lintServable, lintUnservable, OWN_RULES, readToJudge } from './lint.ts'
import type { LintAnswer, LintQuestion } from './linter.ts'

const RULE_NAMES: ReadonlySet<string> = new Set(OWN_RULES.map(({ id }) => id))

parentPort?.on('message', (question: LintQuestion) => {
  const { id } = question
  void answer(question).then(
    (outcome) => parentPort?.postMessage(outcome),
    (cause: unknown) => parentPort?.postMessage({ id, failure: String(cause) } satisfies LintAnswer),
  )
})

async function answer({ id, specification, previous, ruleset }: LintQuestion): Promise<LintAnswer> {
  if (specification === null) return { id, faults: await vet(ruleset) }
  const read = await readToJudge(specification)
  if ('faults' in read) return { id, judgement: { ...lintUnservable(specification, read.faults), changes: [] } }
  const changes = previous === null ? [] : await compare(previous, read)
  const result = await lintServable(specification, read, ruleset, (soFar) => {
    parentPort?.postMessage({ id, soFar: { ...soFar, changes } } satisfies LintAnswer)
  })
  return { id, judgement: { ...result, changes } }
}

/** Loads the validator of schemas only if there is a version to compare with. */
async function compare(previous: Uint8Array, next: Specification) {
  const { compareVersions } = await import('./compare-versions.ts')
  return compareVersions(previous, next)
}

async function vet(ruleset: RulesetDocument) {
  const { faultsOfRuleset } = await import('../spectral/engine.ts')
  return faultsOfRuleset(ruleset, RULE_NAMES)
}
