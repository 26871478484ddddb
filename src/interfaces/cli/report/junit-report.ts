/** Reports as JUnit XML: one suite per document, one case per rule that has findings, and one for the score. */

import { escapeXml } from './escape.ts'
import {
  describeScore,
  describeState,
  isScoreLow,
  sentencesOf,
  showPlace,
  showPrevious,
  type Report,
  type ReportDocument,
  type ReportFinding,
} from './report.ts'

type Outcome = 'failure' | 'error' | 'skipped'

interface Case {
  readonly name: string
  readonly outcome: Outcome | null
  readonly lines: readonly string[]
}

export function toJunit(report: Report): string {
  const troubles = Map.groupBy(report.troubles, ({ file }) => file)
  const suites = [
    ...report.documents.map((document) => toSuite(document.file, casesOf(document))),
    ...[...troubles].map(([file, items]) =>
      toSuite(
        file,
        items.map(({ message }): Case => ({ name: 'input', outcome: 'error', lines: [message] })),
      ),
    ),
  ]
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`
}

function casesOf(document: ReportDocument): readonly Case[] {
  const { file, score, findings } = document
  const byRule = Map.groupBy(findings, ({ rule }) => rule)
  const first: Case =
    score !== null && isScoreLow(document)
      ? { name: 'score', outcome: 'failure', lines: [describeScore(score)] }
      : { name: score === null ? 'comparison' : 'score', outcome: null, lines: [] }
  return [first, ...[...byRule].map(([rule, items]) => toCase(rule, items, file))]
}

/** A rule fails if one of its findings does, and is skipped if all of them are ignored, known or allowed. */
function toCase(name: string, findings: readonly ReportFinding[], file: string): Case {
  const toLine = (finding: ReportFinding): string =>
    `${showPlace(finding.place, file)}${showPrevious(finding)} ${sentencesOf(finding)} ${finding.pointer}${describeState(finding)}`
  const failing = findings.filter(({ isFailure }) => isFailure)
  if (failing.length > 0) return { name, outcome: 'failure', lines: failing.map(toLine) }
  const isSkipped = findings.every(({ state }) => state !== 'new')
  return { name, outcome: isSkipped ? 'skipped' : null, lines: findings.map(toLine) }
}

function toSuite(file: string, cases: readonly Case[]): string {
  const count = (outcome: Outcome): number => cases.filter((each) => each.outcome === outcome).length
  const counts = `tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`
  const lines = cases.map((each) => `    ${toElement(each)}\n`).join('')
  return `  <testsuite name="${escapeXml(file)}" ${counts}>\n${lines}  </testsuite>\n`
}

function toElement({ name, outcome, lines }: Case): string {
  const open = `<testcase classname="openapi" name="${escapeXml(name)}"`
  const text = lines.map(escapeXml).join('\n')
  if (outcome === null) return text === '' ? `${open}/>` : `${open}><system-out>${text}</system-out></testcase>`
  const message = escapeXml(lines[0] ?? '')
  if (outcome === 'skipped') return `${open}><skipped message="${message}"/></testcase>`
  return `${open}><${outcome} message="${message}">${text}</${outcome}></testcase>`
}
