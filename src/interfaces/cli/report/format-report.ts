/** Writes a report in one of the formats of the command line. */

import { toGithub } from './github-report.ts'
import { toJunit } from './junit-report.ts'
import { toMarkdown } from './markdown-report.ts'
import { exitCodeOf, isGood, onlyFailures, type Report } from './report.ts'
import { toSarif } from './sarif-report.ts'
import { toText } from './text-report.ts'

export const REPORT_FORMATS = ['text', 'json', 'sarif', 'junit', 'github', 'markdown'] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

export interface FormatOptions {
  readonly format: ReportFormat
  readonly colour: boolean
  /** Lists only findings that fail. */
  readonly quiet: boolean
}

const WRITERS: Readonly<Record<Exclude<ReportFormat, 'text'>, (report: Report) => string>> = {
  json: toJson,
  sarif: toSarif,
  junit: toJunit,
  github: toGithub,
  markdown: toMarkdown,
}

export function formatReport(report: Report, { format, colour, quiet }: FormatOptions): string {
  const shown = quiet ? onlyFailures(report) : report
  return format === 'text' ? toText(shown, { colour, quiet }) : WRITERS[format](shown)
}

function toJson(report: Report): string {
  const documents = report.documents.map((document) => ({ ...document, isGood: isGood(document) }))
  return `${JSON.stringify({ exitCode: exitCodeOf(report), ...report, documents }, null, 2)}\n`
}
