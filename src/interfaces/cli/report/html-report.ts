/** Reports as one HTML page without scripts and without anything to fetch. */

import { escapeHtml } from './escape.ts'
import {
  describeScore,
  describeState,
  exitCodeOf,
  sentencesOf,
  showPlace,
  showPrevious,
  verdictOf,
  type Report,
  type ReportDocument,
  type ReportFinding,
} from './report.ts'

const STYLE =
  'body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}' +
  'table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;' +
  'vertical-align:top;overflow-wrap:anywhere}.fails{background:#fdecea}code{font-size:.9em}'
const VERDICTS = ['good', 'not good enough', 'trouble'] as const

export function toHtml(report: Report): string {
  const title = `tollgate ${report.command}: ${VERDICTS[exitCodeOf(report)]}`
  const body = [
    `<h1>${title}</h1>`,
    ...report.troubles.map(({ message }) => `<p class="fails">${escapeHtml(message)}</p>`),
    ...report.documents.flatMap(toSection),
    ...toParagraphs(report.notes),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${body.join('\n')}
</body>
</html>
`
}

function toSection(document: ReportDocument): readonly string[] {
  const { file, score, findings, notes } = document
  const points = score === null ? '' : `${describeScore(score)}: `
  const rows = findings.map((finding) => toRow(finding, file))
  const head = '<tr><th>Place</th><th>Severity</th><th>Finding</th><th>Rule</th><th>Pointer</th></tr>'
  return [
    `<h2>${escapeHtml(file)}</h2>`,
    `<p>${escapeHtml(points + verdictOf(document))}</p>`,
    ...(rows.length === 0 ? [] : [`<table>\n${[head, ...rows].join('\n')}\n</table>`]),
    ...toParagraphs(notes),
  ]
}

function toRow(finding: ReportFinding, file: string): string {
  const { place, severity, rule, pointer, isFailure } = finding
  const cells = [
    escapeHtml(showPlace(place, file) + showPrevious(finding)),
    severity,
    escapeHtml(sentencesOf(finding) + describeState(finding)),
    `<code>${escapeHtml(rule)}</code>`,
    `<code>${escapeHtml(pointer)}</code>`,
  ]
  return `<tr${isFailure ? ' class="fails"' : ''}>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function toParagraphs(notes: readonly string[]): readonly string[] {
  return notes.map((note) => `<p>${escapeHtml(note)}</p>`)
}
