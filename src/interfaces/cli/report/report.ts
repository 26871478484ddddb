/**
 * The result of a gate in a build: findings per document, and the reasons why the build fails.
 *
 * Every format and the exit code derive from this model, so that they agree: the exit code is 1 if and only if a finding has
 * `isFailure` or a score is below its minimum, and 2 if and only if there is trouble.
 */

export const SEVERITIES = ['error', 'warning', 'info'] as const
export type Severity = (typeof SEVERITIES)[number]

export interface Report {
  readonly command: 'lint' | 'breaking' | 'validate'
  readonly documents: readonly ReportDocument[]
  /** Inputs that could not be used. */
  readonly troubles: readonly Trouble[]
  /** Remarks on the run as a whole, such as expired entries of the ignore file. */
  readonly notes: readonly string[]
}

export interface Trouble {
  readonly file: string
  readonly message: string
}

export interface ReportDocument {
  readonly file: string
  /** Null: the command computes no score. */
  readonly score: ReportScore | null
  readonly findings: readonly ReportFinding[]
  readonly notes: readonly string[]
}

export interface ReportScore {
  /** The score of the document. */
  readonly value: number
  /** The score without ignored and known findings, which is compared with `minimum`. */
  readonly counted: number
  readonly minimum: number
  /** The part of the document that Spectral's rules checked; null: no rule was applied. */
  readonly coverage: { readonly operations: number; readonly of: number } | null
}

/** Position in a file, from 1. */
export interface ReportPlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface ReportFinding {
  readonly rule: string
  readonly severity: Severity
  readonly message: string
  /** How to fix it; empty if there is no advice. */
  readonly advice: string
  readonly pointer: string
  readonly place: ReportPlace
  /** The place in the previous version; null for what is new, and for findings of one version. */
  readonly previousPlace: ReportPlace | null
  /** The operations that a change affects, such as `POST /things`; empty for a change of the API as a whole, and for other findings. */
  readonly operations: readonly string[]
  readonly fingerprint: string
  /** `known`: listed in the baseline. `ignored`: listed in the ignore file. `allowed`: a change that a new major may make. */
  readonly state: 'new' | 'known' | 'ignored' | 'allowed'
  /** The reason of `ignored` and `allowed`; null for the other states. */
  readonly reason: string | null
  readonly isFailure: boolean
}

const OPERATIONS_MAX = 3
export const EXIT_GOOD = 0
const EXIT_NOT_GOOD = 1
export const EXIT_TROUBLE = 2

/** Exit codes as in `diff(1)`. */
export function exitCodeOf({ documents, troubles }: Pick<Report, 'documents' | 'troubles'>): 0 | 1 | 2 {
  if (troubles.length > 0) return EXIT_TROUBLE
  return documents.every(isGood) ? EXIT_GOOD : EXIT_NOT_GOOD
}

export function isGood(document: ReportDocument): boolean {
  return reasonsAgainst(document).length === 0
}

export function isScoreLow({ score }: Pick<ReportDocument, 'score'>): boolean {
  return score !== null && score.counted < score.minimum
}

/** Reasons why the build fails; empty if it passes. */
export function reasonsAgainst(document: ReportDocument): readonly string[] {
  const { findings, score } = document
  const failing = findings.filter(({ isFailure }) => isFailure).length
  return [
    ...(isScoreLow(document) ? [`the score is below ${score!.minimum}`] : []),
    ...(failing > 0 ? [`${failing} failing ${failing === 1 ? 'finding' : 'findings'}`] : []),
  ]
}

/** States whether the document is good, with the reasons if it is not. */
export function verdictOf(document: ReportDocument): string {
  const reasons = reasonsAgainst(document)
  return reasons.length === 0 ? 'good' : `not good enough: ${reasons.join(', ')}`
}

export function describeScore({ value, counted, minimum, coverage }: ReportScore): string {
  const less = counted === value ? '' : ` (${showScore(counted)} without ignored and known findings)`
  const gap = coverage === null ? '' : describeGap(coverage)
  return `${showScore(value)} of 100${less}${minimum > 0 ? `; asked for ${minimum}` : ''}${gap === '' ? '' : `; ${gap}`}`
}

/** Empty if all operations were checked. */
export function describeGap({ operations, of }: { readonly operations: number; readonly of: number }): string {
  return operations < of ? `Spectral's rules checked ${operations} of ${of} operations` : ''
}

/** Rounds the score down to one decimal place: a score below the minimum never looks as if it reached it. */
export function showScore(score: number): string {
  return (Math.floor(Number((score * 10).toFixed(6))) / 10).toFixed(1)
}

/** Line and column, with the file unless it is that of the document. */
export function showPlace({ file, line, column }: ReportPlace, document: string): string {
  return file === document ? `${line}:${column}` : `${file}:${line}:${column}`
}

/** The place in the previous version, always with its file: ` (was old.yaml:1:17)`; empty if there is none. */
export function showPrevious({ previousPlace }: Pick<ReportFinding, 'previousPlace'>): string {
  return previousPlace === null ? '' : ` (was ${showPlace(previousPlace, '')})`
}

/** The message, the advice if the two differ, and the operations that the pointer does not name. */
export function sentencesOf(finding: Pick<ReportFinding, 'message' | 'advice' | 'pointer' | 'operations'>): string {
  const { message, advice, pointer, operations } = finding
  const text = advice === '' || message === advice ? message : `${message} ${advice}`
  const isNamed = operations.length === 0 || (operations.length === 1 && pointer.startsWith('/paths/'))
  if (isNamed) return text
  const rest = operations.length - OPERATIONS_MAX
  const more = rest > 0 ? ` and ${rest} more` : ''
  return `${text} Affects ${operations.slice(0, OPERATIONS_MAX).join(', ')}${more}.`
}

/** How a finding that does not fail is marked: ` (ignored: reason)`; empty for a finding that counts. */
export function describeState({ state, reason }: Pick<ReportFinding, 'state' | 'reason'>): string {
  if (state === 'new') return ''
  return reason === null ? ` (${state})` : ` (${state}: ${reason})`
}

/** Keeps only findings that fail. */
export function onlyFailures(report: Report): Report {
  const documents = report.documents.map((document) => ({
    ...document,
    findings: document.findings.filter(({ isFailure }) => isFailure),
  }))
  return { ...report, documents }
}
