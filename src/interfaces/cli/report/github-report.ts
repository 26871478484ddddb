/** Reports as workflow commands of GitHub Actions, which annotate the lines of a pull request. */

import { toPlain } from '../../../foundation/domain/plain-text.ts'
import { escapeCommandMessage, escapeCommandProperty } from './escape.ts'
import {
  describeScore,
  describeState,
  isScoreLow,
  sentencesOf,
  showPrevious,
  verdictOf,
  type Report,
  type ReportDocument,
  type ReportFinding,
} from './report.ts'

/** Commands by what they annotate: an error fails the build. */
const COMMANDS = { error: 'warning', warning: 'warning', info: 'notice' } as const

interface Annotation {
  readonly command: 'error' | 'warning' | 'notice'
  readonly file: string
  readonly line: number
  readonly column: number
  readonly title: string
  readonly message: string
}

/** GitHub shows ten annotations per command and step, so what fails comes first. */
export function toGithub(report: Report): string {
  const start = { line: 1, column: 1 }
  const annotations = [
    ...report.troubles.map(({ file, message }): Annotation => ({
      command: 'error',
      file,
      ...start,
      title: 'tollgate',
      message,
    })),
    ...report.documents.flatMap(annotationsOf).toSorted((a, b) => rank(a) - rank(b)),
    ...report.notes.map((message): Annotation => ({
      command: 'notice',
      file: '',
      ...start,
      title: 'tollgate',
      message,
    })),
  ]
  const verdicts = report.documents.map((document) => `${toPlain(document.file)}: ${verdictOf(document)}`)
  return `${[...annotations.map(toCommand), ...verdicts.map(withoutCommand)].join('\n')}\n`
}

function annotationsOf(document: ReportDocument): readonly Annotation[] {
  const { file, score, findings } = document
  const shown = findings.filter(({ state }) => state === 'new' || state === 'allowed').map(toAnnotation)
  if (!isScoreLow(document)) return shown
  const message = `The score is too low: ${describeScore(score!)}.`
  return [{ command: 'error', file, line: 1, column: 1, title: 'min-score', message }, ...shown]
}

function toAnnotation(finding: ReportFinding): Annotation {
  const { place, rule, severity, isFailure } = finding
  const message = sentencesOf(finding) + describeState(finding) + showPrevious(finding)
  return { command: isFailure ? 'error' : COMMANDS[severity], ...place, title: rule, message }
}

function rank({ command }: Annotation): number {
  return ['error', 'warning', 'notice'].indexOf(command)
}

function toCommand({ command, file, line, column, title, message }: Annotation): string {
  const name = `title=${escapeCommandProperty(title)}`
  const place = file === '' ? '' : `file=${escapeCommandProperty(toFile(file))},line=${line},col=${column},`
  return `::${command} ${place}${name}::${escapeCommandMessage(message)}`
}

function toFile(file: string): string {
  return file.replace(/^git:[^:]*:/, '')
}

/** A line of text must not hold a command, in the present notation or in the former one. */
function withoutCommand(line: string): string {
  return line.replaceAll('::', ':\u200b:').replaceAll('##[', '#\u200b#[')
}
