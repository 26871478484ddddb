/**
 * `tollgate lint`: lints documents on a thread of this process, by the rules that the service applies.
 *
 * The score that is compared with `--min-score` leaves out ignored and known findings.
 */

import type { Readable } from 'node:stream'
import { Problem } from '../../../foundation/domain/problem.ts'
import {
  createLinter as createOwnLinter,
  type Linter,
  type LinterOptions,
  type LintReport,
} from '../../../documents/governance/lint/linter.ts'
import { scoreOf } from '../../../documents/governance/lint/score.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../../../documents/governance/ruleset-document.ts'
import { systemClock } from '../../../foundation/runtime/clock.ts'
import type { ReportDocument, ReportFinding, Trouble } from '../report/report.ts'
import { findInputs } from './find-inputs.ts'
import type { LintSettings } from './gate-settings.ts'
import { InputFault } from './input-fault.ts'
import { judgeFindings, type JudgeOptions, type RawDocument } from './judge-findings.ts'
import { readOptionFile } from './option-file.ts'
import { readDocument, type Sources } from './read-document.ts'

export interface Judged {
  readonly documents: readonly ReportDocument[]
  readonly troubles: readonly Trouble[]
  readonly baselineText: string | null
}

export interface LintMeans {
  readonly stdin: Readable
  /** Creates the linter of one run. Default: with threads of its own. */
  readonly createLinter?: ((options: LinterOptions) => Linter) | undefined
}

interface Linted extends RawDocument {
  readonly report: LintReport
}

/** Longer than in the service: a build may wait, and has no other tenants. */
const DEADLINE_MS = 120_000
const FINDINGS_MAX = 50_000

export async function lintDocuments(
  settings: LintSettings,
  options: JudgeOptions,
  { stdin, createLinter = createOwnLinter }: LintMeans,
): Promise<Judged> {
  const log = { error: () => {} }
  const linter = createLinter({ clock: systemClock, log, deadlineMs: DEADLINE_MS, findingsMax: FINDINGS_MAX })
  try {
    const ruleset = settings.ruleset === null ? EMPTY_RULESET : await readRuleset(settings.ruleset, linter, stdin)
    const linted: Linted[] = []
    const troubles: Trouble[] = []
    for (const input of findInputs(settings.files)) {
      const result =
        input instanceof InputFault ? input : await lintOne(input, { root: settings.root, ruleset, linter, stdin })
      if (result instanceof InputFault) troubles.push({ file: result.file, message: result.message })
      else linted.push(result)
    }
    const { findings, baselineText } = judgeFindings(linted, options)
    const documents = linted.map((each, index) => toDocument(each, findings[index]!, settings.minScore))
    return { documents, troubles, baselineText }
  } finally {
    await linter.close()
  }
}

export async function readRuleset(name: string, linter: Linter, stdin: Readable): Promise<RulesetDocument> {
  const given = await readOptionFile('ruleset', name, stdin)
  if (given['rules'] === undefined && given['extends'] === undefined) {
    throw new InputFault(name, `--ruleset ${name}: A ruleset must have \`rules\`, \`extends\`, or both.`)
  }
  const rules = given['rules'] ?? {}
  if (typeof rules !== 'object' || rules === null || Array.isArray(rules)) {
    throw new InputFault(name, `--ruleset ${name}: \`rules\` must be an object.`)
  }
  const document: RulesetDocument = { ...given, rules: rules as RulesetDocument['rules'] }
  const faults = await linter.checkRuleset(document)
  if (faults.length === 0) return document
  const sentences = faults.map(({ pointer, detail }) => `${pointer || '/'}: ${detail}`)
  throw new InputFault(name, `--ruleset ${name}: ${sentences.join(' ')}`)
}

interface LintOptions {
  readonly root: string | null
  readonly ruleset: RulesetDocument
  readonly linter: Linter
  readonly stdin: Readable
}

async function lintOne(name: string, { root, ruleset, linter, stdin }: LintOptions): Promise<Linted | InputFault> {
  try {
    const { file, bytes, sources } = await readDocument(name, root, stdin)
    const report = await linter.lint(bytes, null, ruleset).catch((cause: unknown) => {
      const reason = cause instanceof Problem ? cause.message : `It could not be linted: ${String(cause)}`
      throw new InputFault(file, `${file}: ${reason}`, { cause })
    })
    return { file, report, findings: toRaws(file, report, sources) }
  } catch (cause) {
    if (cause instanceof InputFault) return cause
    throw cause
  }
}

type RawFinding = RawDocument['findings'][number]

function toRaws(file: string, { findings }: LintReport, sources: Sources | null): readonly RawFinding[] {
  const placeOf = sources?.findPlaces(findings.map(({ pointer }) => pointer)) ?? null
  return findings.map((finding): RawFinding => {
    const { rule, severity, advice, pointer, line, column, fingerprint } = finding
    const place = placeOf?.(pointer) ?? { file, line, column }
    const message = sources?.faults.get(pointer) ?? finding.message
    const none = { previousPlace: null, operations: [], allowance: null }
    return { rule, severity, message, advice, pointer, place, fingerprint, ...none }
  })
}

function toDocument({ file, report }: Linted, findings: readonly ReportFinding[], minimum: number): ReportDocument {
  const counted = countedScore(report, findings)
  const score = { value: report.score, counted, minimum, coverage: report.coverage }
  return { file, score, findings, notes: notesOf(report) }
}

/** Returns the score without findings that are ignored or known. */
function countedScore({ score, costs, isServable }: LintReport, findings: readonly ReportFinding[]): number {
  const spared = findings.filter(({ state }) => state !== 'new')
  if (spared.length === 0) return score
  const byRule = Map.groupBy(spared, ({ rule }) => rule)
  const counts = costs
    .map((cost) => {
      const count = cost.count - (byRule.get(cost.rule)?.length ?? 0)
      return { ...cost, count, density: (cost.density * count) / cost.count }
    })
    .filter(({ count }) => count > 0)
  const isSpared = counts.every(({ category }) => category !== 'validity')
  return scoreOf(counts, isServable || isSpared).score
}

function notesOf({ coverage, omitted }: LintReport): readonly string[] {
  const { failed = [] } = coverage ?? {}
  return [
    ...(omitted > 0 ? [`${omitted} more findings are not listed`] : []),
    ...failed.map(({ rule, detail }) => `${rule} could not be applied: ${detail}`),
  ]
}
