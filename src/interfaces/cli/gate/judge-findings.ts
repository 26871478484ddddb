/** Decides which findings fail the build: those of the severity that fails, unless they are ignored, known or allowed. */

import { SEVERITIES, type ReportFinding, type Severity } from '../report/report.ts'
import { baselineOf, toBaselineText, type Baseline } from './baseline.ts'
import type { IgnoreFile } from './ignore-file.ts'

/** A finding before it is judged. */
export type RawFinding = Omit<ReportFinding, 'state' | 'reason' | 'isFailure'> & {
  /** Why the finding never fails, such as a new major version; null if it may fail. */
  readonly allowance: string | null
}

export interface RawDocument {
  readonly file: string
  readonly findings: readonly RawFinding[]
}

export interface JudgeOptions {
  readonly failSeverity: Severity | null
  readonly ignores: IgnoreFile
  readonly baseline: Baseline
  /** Judges with the findings of this run as the baseline. */
  readonly makesBaseline: boolean
}

export interface Judgement {
  readonly findings: readonly (readonly ReportFinding[])[]
  /** The new baseline; null unless one is made. */
  readonly baselineText: string | null
}

/** Returns the findings of each document, in the order of the documents; those that fail first. */
export function judgeFindings(documents: readonly RawDocument[], options: JudgeOptions): Judgement {
  const { ignores, makesBaseline } = options
  const counting = new Map(
    documents.map(({ file, findings }) => [
      file,
      findings.filter((finding) => ignores.reasonFor(file, finding) === null && finding.allowance === null),
    ]),
  )
  const baseline = makesBaseline ? baselineOf(counting) : options.baseline
  return {
    findings: documents.map((document) => judgeDocument(document, { ...options, baseline })),
    baselineText: makesBaseline ? toBaselineText(counting) : null,
  }
}

function judgeDocument(
  { file, findings }: RawDocument,
  { failSeverity, ignores, baseline }: JudgeOptions,
): readonly ReportFinding[] {
  const isKnown = baseline.openDocument(file)
  const failing: readonly Severity[] =
    failSeverity === null ? [] : SEVERITIES.slice(0, SEVERITIES.indexOf(failSeverity) + 1)
  const judged = findings.map(({ allowance, ...finding }): ReportFinding => {
    const ignored = ignores.reasonFor(file, finding)
    if (ignored !== null) return { ...finding, state: 'ignored', reason: ignored, isFailure: false }
    if (allowance !== null) return { ...finding, state: 'allowed', reason: allowance, isFailure: false }
    if (isKnown(finding)) return { ...finding, state: 'known', reason: null, isFailure: false }
    return { ...finding, state: 'new', reason: null, isFailure: failing.includes(finding.severity) }
  })
  return judged.toSorted((a, b) => Number(b.isFailure) - Number(a.isFailure))
}
