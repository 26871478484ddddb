/** Reports as Markdown: for `$GITHUB_STEP_SUMMARY`, for a note of a merge request, and as a changelog of an API. */

import { escapeMarkdown } from '../../../foundation/domain/plain-text.ts'
import { toChangelogSections } from '../../../documents/governance/compare/changelog.ts'
import {
  describeScore,
  describeState,
  sentencesOf,
  showPlace,
  verdictOf,
  type Report,
  type ReportDocument,
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

function toChangelog({ file, findings }: ReportDocument): readonly string[] {
  return toChangelogSections(
    findings.map((finding) => {
      const { place, previousPlace, pointer, rule, operations, severity } = finding
      return {
        id: rule,
        isBreaking: severity === 'error',
        text: sentencesOf({ ...finding, operations: [] }) + describeState(finding),
        operations,
        pointer,
        place: showPlace(place, file),
        previousPlace: previousPlace === null ? null : showPlace(previousPlace, ''),
      }
    }),
  )
}
