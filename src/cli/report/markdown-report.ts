/** Reports as Markdown: for `$GITHUB_STEP_SUMMARY`, for a note of a merge request, and as a changelog of an API. */

import { escapeMarkdown } from './escape.ts'
import {
  describeScore,
  describeState,
  sentencesOf,
  showPlace,
  verdictOf,
  type Report,
  type ReportDocument,
  type ReportFinding,
} from './report.ts'

export function toMarkdown(report: Report): string {
  const sections = [
    `# ${report.command === 'breaking' ? 'Changes of the API' : 'Findings'}`,
    ...report.troubles.map(({ message }) => `**Trouble:** ${escapeMarkdown(message)}`),
    ...report.documents.flatMap((document) => toSections(document, report.command)),
    ...report.notes.map((note) => `_${escapeMarkdown(note)}_`),
  ]
  return `${sections.join('\n\n')}\n`
}

function toSections(document: ReportDocument, command: Report['command']): readonly string[] {
  const { file, score, notes } = document
  const points = score === null ? '' : `${describeScore(score)}: `
  return [
    `## ${escapeMarkdown(file)}`,
    escapeMarkdown(`${points}${verdictOf(document)}`),
    ...(command === 'breaking' ? toChangelog(document) : toTable(document)),
    ...notes.map((note) => `_${escapeMarkdown(note)}_`),
  ]
}

function toTable({ file, findings }: ReportDocument): readonly string[] {
  if (findings.length === 0) return []
  const rows = findings.map((finding) => {
    const { place, severity, rule, isFailure } = finding
    const text = escapeMarkdown(sentencesOf(finding) + describeState(finding))
    return `| ${escapeMarkdown(showPlace(place, file))} | ${severity} | ${isFailure ? 'yes' : 'no'} | ${text} | ${escapeMarkdown(rule)} |`
  })
  return [['| Place | Severity | Fails | Finding | Rule |', '| --- | --- | --- | --- | --- |', ...rows].join('\n')]
}

const HEADINGS = { error: 'Breaking', warning: 'Attention', info: 'Compatible' } as const

function toChangelog({ file, findings }: ReportDocument): readonly string[] {
  const bySeverity = Map.groupBy(findings, ({ severity }) => severity)
  const sections = (['error', 'warning', 'info'] as const).flatMap((severity) => {
    const changes = bySeverity.get(severity) ?? []
    return changes.length === 0
      ? []
      : [`### ${HEADINGS[severity]}`, changes.map((change) => toItem(change, file)).join('\n')]
  })
  return sections.length === 0 ? ['No changes.'] : sections
}

function toItem(finding: ReportFinding, file: string): string {
  const { place, previousPlace, pointer, rule } = finding
  const was = previousPlace === null ? '' : `, was line ${previousPlace.line}:${previousPlace.column}`
  const text = escapeMarkdown(sentencesOf(finding) + describeState(finding))
  return `- ${text} ${escapeMarkdown(pointer)} (line ${escapeMarkdown(showPlace(place, file))}${was}; ${escapeMarkdown(rule)})`
}
