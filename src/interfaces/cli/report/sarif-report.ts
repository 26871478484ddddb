/**
 * Reports as SARIF 2.1.0.
 *
 * A result has the level `error` if and only if it fails the build, so that a code host gates as the exit code does; its own
 * severity is in `properties.severity`. Ignored results are suppressed with their reason, known ones are `unchanged`.
 */

import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  exitCodeOf,
  describeScore,
  isScoreLow,
  EXIT_TROUBLE,
  sentencesOf,
  type Report,
  type ReportDocument,
  type ReportFinding,
  type ReportPlace,
} from './report.ts'

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json'
const LEVELS = { error: 'warning', warning: 'warning', info: 'note' } as const
const LOW_SCORE = 'min-score'
const LOW_SCORE_ADVICE = 'Fix the findings that cost the most points.'
const EXITS = ['good', 'not good enough', 'trouble'] as const

export function toSarif(report: Report): string {
  const advice = new Map<string, string>()
  for (const { findings } of report.documents) {
    for (const { rule, advice: text } of findings) if (!advice.get(rule)) advice.set(rule, text)
  }
  if (report.documents.some(isScoreLow)) advice.set(LOW_SCORE, LOW_SCORE_ADVICE)
  const exitCode = exitCodeOf(report)
  const notify = (level: 'error' | 'note') => (text: string) => ({ level, message: { text } })
  const run = {
    tool: {
      driver: {
        name: 'tollgate',
        rules: [...advice].map(([id, text]) => ({ id, ...(text !== '' && { help: { text } }) })),
      },
    },
    columnKind: 'utf16CodeUnits',
    invocations: [
      {
        executionSuccessful: exitCode !== EXIT_TROUBLE,
        exitCode,
        exitCodeDescription: EXITS[exitCode],
        toolExecutionNotifications: [
          ...report.troubles.map(({ message }) => message).map(notify('error')),
          ...[...report.notes, ...report.documents.flatMap(({ notes }) => notes)].map(notify('note')),
        ],
      },
    ],
    results: report.documents.flatMap(resultsOf),
  }
  return `${JSON.stringify({ $schema: SCHEMA, version: '2.1.0', runs: [run] }, null, 2)}\n`
}

function resultsOf(document: ReportDocument): readonly object[] {
  const { file, score, findings } = document
  const results: object[] = findings.map(toResult)
  if (!isScoreLow(document)) return results
  const low = {
    ruleId: LOW_SCORE,
    level: 'error',
    message: { text: `The score is too low: ${describeScore(score!)}.` },
    locations: [toLocation({ file, line: 1, column: 1 })],
    partialFingerprints: { 'tollgate/v1': LOW_SCORE },
  }
  return [low, ...results]
}

function toResult(finding: ReportFinding): object {
  const { rule, severity, pointer, place, previousPlace, fingerprint, state, reason, isFailure } = finding
  return {
    ruleId: rule,
    level: isFailure ? 'error' : LEVELS[severity],
    message: { text: sentencesOf(finding) },
    locations: [{ ...toLocation(place), logicalLocations: [{ fullyQualifiedName: pointer }] }],
    ...(previousPlace !== null && {
      relatedLocations: [{ ...toLocation(previousPlace), message: { text: 'In the previous version.' } }],
    }),
    partialFingerprints: { 'tollgate/v1': fingerprint },
    ...(state === 'known' && { baselineState: 'unchanged' }),
    ...(state === 'ignored' && {
      suppressions: [{ kind: 'external', status: 'accepted', justification: reason ?? '' }],
    }),
    properties: { severity, state, ...(reason !== null && { reason }) },
  }
}

function toLocation({ file, line, column }: ReportPlace): object {
  return {
    physicalLocation: { artifactLocation: { uri: toUri(file) }, region: { startLine: line, startColumn: column } },
  }
}

/** Returns a URI reference. The path of a file in git is that of the file. */
function toUri(file: string): string {
  const path = file.replace(/^git:[^:]*:/, '')
  if (isAbsolute(path)) return pathToFileURL(path).href
  return path.split(/[/\\]/).map(encodeURIComponent).join('/')
}
