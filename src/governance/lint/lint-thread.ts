/** The thread in which documents are judged: one after the other, each answered by its number. */

import { parentPort } from 'node:worker_threads'
import { compareVersions } from './compare-versions.ts'
import { lint } from './lint.ts'
import type { Severities } from './finding.ts'
import type { LintAnswer, LintQuestion } from './linter.ts'

parentPort?.on('message', ({ id, specification, previous, severities }: LintQuestion) => {
  void judge(specification, previous, severities).then(
    (judgement) => parentPort?.postMessage({ id, judgement } satisfies LintAnswer),
    (cause: unknown) => parentPort?.postMessage({ id, failure: String(cause) } satisfies LintAnswer),
  )
})

async function judge(specification: Uint8Array, previous: Uint8Array | null, severities: Severities) {
  const result = await lint(specification, severities)
  const changes = previous === null || !result.isServable ? [] : await compareVersions(previous, specification)
  return { ...result, changes }
}
