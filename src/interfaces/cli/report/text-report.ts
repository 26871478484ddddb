/** Reports as text for people. */

import { toPlain } from '../../../foundation/domain/plain-text.ts'
import {
  describeScore,
  describeState,
  isGood,
  reasonsAgainst,
  sentencesOf,
  showPlace,
  showPrevious,
  type Report,
  type ReportDocument,
  type ReportFinding,
} from './report.ts'

export interface TextOptions {
  readonly colour: boolean
  /** Leaves out good documents and remarks. */
  readonly quiet: boolean
}

type Paint = (style: keyof typeof COLOURS, text: string) => string

const FINDINGS_MAX = 40
const COLOURS = { error: 31, warning: 33, info: 36, good: 32, dim: 2, bold: 1 } as const

export function toText(report: Report, { colour, quiet }: TextOptions): string {
  const paint: Paint = (style, text) => (colour ? `\x1b[${COLOURS[style]}m${text}\x1b[0m` : text)
  const shown = report.documents.filter((document) => !quiet || !isGood(document))
  const lines = [
    ...shown.flatMap((document) => [...toLines(document, report.command, paint), '']),
    ...(quiet ? [] : report.notes.map((note) => paint('dim', toPlain(note)))),
    ...(quiet || report.documents.length < 2 ? [] : [summaryOf(report)]),
  ]
  while (lines.at(-1) === '') lines.pop()
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

/** One line per document, for the terminal if the report itself goes to a file. */
export function toVerdictLines(report: Report, colour: boolean): string {
  const documents = report.documents.map((document) => ({ ...document, findings: document.findings, notes: [] }))
  const paint: Paint = (style, text) => (colour ? `\x1b[${COLOURS[style]}m${text}\x1b[0m` : text)
  return documents.map((document) => `${headOf(document, report.command, paint)}\n`).join('')
}

function summaryOf({ documents }: Report): string {
  const good = documents.filter(isGood).length
  return `${documents.length} documents: ${good} good, ${documents.length - good} not good enough`
}

function toLines(document: ReportDocument, command: Report['command'], paint: Paint): readonly string[] {
  // Ignored and known findings are counted, not listed.
  const listed = document.findings.filter(({ state }) => state === 'new' || state === 'allowed')
  const shown = listed.slice(0, FINDINGS_MAX)
  const places = shown.map((finding) => toPlain(showPlace(finding.place, document.file) + showPrevious(finding)))
  const width = Math.max(0, ...places.map(({ length }) => length))
  const rest = listed.length - shown.length
  return [
    headOf(document, command, paint),
    ...shown.map((finding, index) => toLine(finding, places[index]!.padEnd(width), command, paint)),
    ...(rest > 0 ? [paint('dim', `  and ${rest} more: --format json lists all`)] : []),
    ...countsOf(document.findings).map((text) => paint('dim', text)),
    ...document.notes.map((note) => paint('dim', `  ${toPlain(note)}`)),
  ]
}

function headOf(document: ReportDocument, command: Report['command'], paint: Paint): string {
  const { file, score } = document
  const reasons = reasonsAgainst(document)
  const verdict =
    reasons.length === 0 ? paint('good', 'good') : paint('error', `not good enough: ${reasons.join(', ')}`)
  if (score !== null) {
    return `${paint('bold', toPlain(file))}  ${toBar(score.value)} ${describeScore(score)}: ${verdict}`
  }
  const breaking = document.findings.filter(({ severity }) => severity === 'error').length
  const changes = command === 'breaking' ? `${countOf(breaking, 'breaking change')}: ` : ''
  return `${paint('bold', toPlain(file))}  ${changes}${verdict}`
}

function toLine(finding: ReportFinding, place: string, command: Report['command'], paint: Paint): string {
  const { severity, rule, pointer, isFailure } = finding
  const label = command === 'breaking' && severity === 'error' ? 'breaking' : severity
  const mark = isFailure ? paint('error', '✗') : ' '
  const detail = paint('dim', toPlain(`${rule} ${pointer}`))
  const text = toPlain(sentencesOf(finding) + describeState(finding))
  return `${mark} ${place}  ${paint(severity, label.padEnd(8))}  ${text}  ${detail}`
}

function countsOf(findings: readonly ReportFinding[]): readonly string[] {
  const count = (state: ReportFinding['state']): number => findings.filter((each) => each.state === state).length
  const counts = (['ignored', 'known'] as const).map((state) => ({ state, times: count(state) }))
  const texts = counts.filter(({ times }) => times > 0).map(({ state, times }) => `${times} ${state}`)
  return texts.length === 0 ? [] : [`  ${texts.join(', ')}: not listed`]
}

function countOf(times: number, noun: string): string {
  return `${times} ${noun}${times === 1 ? '' : 's'}`
}

function toBar(score: number): string {
  const full = Math.round(score / 10)
  return '█'.repeat(full) + '░'.repeat(10 - full)
}
