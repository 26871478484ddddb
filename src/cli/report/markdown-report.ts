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

const HEADINGS = ['Breaking', 'Added', 'Changed', 'Deprecated', 'Removed'] as const
const OPERATIONS_MAX = 20

function toChangelog({ file, findings }: ReportDocument): readonly string[] {
  const byHeading = Map.groupBy(findings, headingOf)
  const sections = HEADINGS.flatMap((heading) => {
    const changes = byHeading.get(heading) ?? []
    const items = changes.map((change) => toItem(change, file))
    return changes.length === 0 ? [] : [`### ${heading}`, items.join('\n')]
  })
  return sections.length === 0 ? ['No changes.'] : sections
}

/** By the name of the rule: its last part names what happened. */
function headingOf({ rule, severity }: ReportFinding): (typeof HEADINGS)[number] {
  if (severity === 'error') return 'Breaking'
  const what = rule.slice(rule.lastIndexOf('.') + 1)
  if (rule === 'operation.deprecated' || rule.startsWith('operation.sunset.')) return 'Deprecated'
  if (what === 'added') return 'Added'
  return what === 'removed' || what === 'sunset' || what === 'undeclared' ? 'Removed' : 'Changed'
}

/** The operations, what the change means for a caller, and its places. */
function toItem(finding: ReportFinding, file: string): string {
  const { place, previousPlace, pointer, rule, operations } = finding
  const was = previousPlace === null ? '' : `, was ${showPlace(previousPlace, '')}`
  const rest = operations.length - OPERATIONS_MAX
  const named = operations.slice(0, OPERATIONS_MAX).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
  const text = sentencesOf({ ...finding, operations: [] }) + describeState(finding)
  const sentence = escapeMarkdown(named === '' ? text : `${named}: ${text}`)
  return `- ${sentence} ${escapeMarkdown(pointer)} (line ${escapeMarkdown(showPlace(place, file))}${escapeMarkdown(was)}; ${escapeMarkdown(rule)})`
}
