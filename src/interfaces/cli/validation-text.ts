/** Validation results as text: findings with their location, breaking changes, and recommended fixes. */

import { toPlain } from '../../foundation/domain/plain-text.ts'
import { describeGap, showPlace, showScore } from './report/report.ts'
import { reasonsAgainst, type ShownFinding, type ValidationResult } from './validation-result.ts'

export interface TextOptions {
  readonly file: string
  readonly minScore: number
  readonly colour: boolean
}

const FINDINGS_MAX = 40
const ADVICE_MAX = 3
const COLOURS = { error: 31, breaking: 31, warning: 33, info: 36, good: 32, dim: 2, bold: 1 } as const

export function toText(result: ValidationResult, { file, minScore, colour }: TextOptions): string {
  const paint = (style: keyof typeof COLOURS, text: string): string =>
    colour ? `\x1b[${COLOURS[style]}m${text}\x1b[0m` : text
  const { score, findings, compliance, changes, recommendations } = result
  const reasons = reasonsAgainst(result, minScore)
  const verdict =
    reasons.length === 0 ? paint('good', 'good') : paint('error', `not good enough: ${reasons.join(', ')}`)
  const places = findings.slice(0, FINDINGS_MAX).map((finding) => toPlain(showPlace({ file, ...finding }, file)))
  const width = Math.max(0, ...places.map(({ length }) => length))
  const lines = [
    `${paint('bold', file)}  ${bar(score)} ${paint('bold', showScore(score))} of 100, ${compliance.band}; asked for ${minScore}: ${verdict}`,
    paint(
      'dim',
      `  ${Object.entries(compliance.categories)
        .map(([name, points]) => `${name} ${points}`)
        .join('   ')}`,
    ),
    ...unseen(compliance.coverage).map((text) => paint('warning', text)),
    '',
    ...findings.slice(0, FINDINGS_MAX).map((finding, index) => {
      const { severity, message, rule } = finding
      return `  ${places[index]!.padEnd(width)}  ${paint(severity, severity.padEnd(7))}  ${toPlain(message)}  ${paint('dim', rule)}`
    }),
    ...more(findings, compliance.omitted).map((text) => paint('dim', text)),
    ...section(
      'Changes from the previous version',
      changes.map(
        ({ level, message, pointer }) =>
          `  ${paint(level, level.padEnd(8))}  ${toPlain(message)}  ${paint('dim', toPlain(pointer))}`,
      ),
    ),
    ...section(
      'Recommended first',
      recommendations
        .slice(0, ADVICE_MAX)
        .map(
          ({ advice, count, gain }) =>
            `  +${gain.toFixed(1).padEnd(5)} ${toPlain(advice)} ${paint('dim', `(${count}×)`)}`,
        ),
    ),
  ]
  return `${lines.join('\n')}\n`
}

function bar(score: number): string {
  const full = Math.round(score / 10)
  return '█'.repeat(full) + '░'.repeat(10 - full)
}

function more(findings: readonly ShownFinding[], omitted: number): readonly string[] {
  const rest = Math.max(0, findings.length - FINDINGS_MAX) + omitted
  return rest === 0 ? [] : [`  and ${rest} more: --format json shows ${omitted === 0 ? 'them all' : 'the first 500'}`]
}

/** Parts of the document that Spectral's rules did not check. */
function unseen(coverage: ValidationResult['compliance']['coverage']): readonly string[] {
  if (coverage === null) return []
  const gap = describeGap(coverage)
  return [
    ...(gap === '' ? [] : [`  ${gap}`]),
    ...coverage.failed.map(({ rule, detail }) => `  ${rule} could not be applied: ${toPlain(detail)}`),
  ]
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines]
}
