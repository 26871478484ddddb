/**
 * Scores the platform's own OpenAPI document and writes `build/platform-score.json`: `npm ci` and `npm pack` run it.
 *
 * A first start stores this score instead of spending three seconds of CPU on it. `npx tollgate` in a clone runs the scripts of an
 * installation as well, so that nothing is scored if nothing has changed.
 */

import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BUILT_SCORE } from '../src/app/built-score.ts'
import { createLinter } from '../src/documents/governance/lint/linter.ts'
import { ownDocument } from '../src/interfaces/platform/openapi.ts'
import { ownSpecification } from '../src/control/programmes/compliance.ts'
import { systemClock as clock } from '../src/foundation/runtime/clock.ts'
import { createLog } from '../src/foundation/runtime/log.ts'

const ROOT = join(import.meta.dirname, '..')

const document = ownDocument()
const inputs = digestInputs()
if (!existsSync(BUILT_SCORE) || JSON.parse(readFileSync(BUILT_SCORE, 'utf8')).inputs !== inputs) await score()

/** The document, the rules, and the versions of the packages. */
function digestInputs(): string {
  const digest = createHash('sha256').update(document)
  for (const file of [
    ...globSync('src/{documents/governance,foundation/json}/**/*.ts', { cwd: ROOT }).sort(),
    'package-lock.json',
  ]) {
    digest.update(`${file}\n`).update(readFileSync(join(ROOT, file)))
  }
  return digest.digest('hex')
}

async function score(): Promise<void> {
  const linter = createLinter({ clock, log: createLog('warn'), threads: 1 })
  const report = await linter.lint(document)
  await linter.close()
  const [unfinished] = report.coverage?.failed ?? []
  if (unfinished !== undefined) throw new Error(unfinished.detail)
  mkdirSync(dirname(BUILT_SCORE), { recursive: true })
  writeFileSync(BUILT_SCORE, JSON.stringify({ inputs, specification: ownSpecification(document), report }))
  console.error(`build/platform-score.json: ${report.score}`)
}
