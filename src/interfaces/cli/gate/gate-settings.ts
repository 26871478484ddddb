/** Command lines of `tollgate lint` and `tollgate breaking`. */

import { parseArgs, type ParseArgsConfig } from 'node:util'
import { REPORT_FORMATS, type ReportFormat } from '../report/format-report.ts'
import { SEVERITIES, type Severity } from '../report/report.ts'

export interface OutputSettings {
  readonly format: ReportFormat
  /** A file for the report; null: standard output. */
  readonly output: string | null
  readonly quiet: boolean
}

export interface JudgeSettings {
  /** The folder of all files that documents may refer to; null: that of each document. */
  readonly root: string | null
  /** The lowest severity that fails; null: none. */
  readonly failSeverity: Severity | null
  readonly ignoreFile: string | null
  readonly baseline: string | null
  readonly writeBaseline: string | null
}

export interface LintSettings extends JudgeSettings, OutputSettings {
  readonly command: 'lint'
  readonly files: readonly string[]
  readonly ruleset: string | null
  readonly minScore: number
}

export interface BreakingSettings extends JudgeSettings, OutputSettings {
  readonly command: 'breaking'
  readonly previous: string
  readonly next: string
  /** Switches on checks of the life of operations. */
  readonly ruleset: string | null
  readonly failOnBreaking: boolean
}

export type GateSettings = LintSettings | BreakingSettings
export type GateCommand = GateSettings['command']

/** Settings, or a text to print. */
export type GateArguments = GateSettings | GateText

interface GateText {
  readonly command: 'text'
  readonly text: string
  /** False: the text is the asked-for help. */
  readonly isFault: boolean
}

export const GATE_HELP = `tollgate lint FILE… [--ruleset FILE] [--fail-severity error] [--min-score 0] [OPTIONS]

Lints documents on this machine, without a service and without credentials. A FILE may be a pattern in quotes
('apis/**/*.yaml'), - for standard input, or git:REF:PATH.

tollgate breaking OLD NEW [--ruleset FILE] [--fail-on-breaking] [--fail-severity error] [OPTIONS]

Lists the changes from OLD to NEW, either of them a file, - or git:REF:PATH (git:origin/main:openapi.yaml). A new
major version may break: its breaking changes are listed, and fail only with --fail-on-breaking.

OPTIONS of both:
  --fail-severity ${SEVERITIES.join('|')}|off   the lowest severity that fails [error]
  --root DIR             follow references to files below DIR, instead of the folder of the document
  --format ${REPORT_FORMATS.join('|')}  [text]
  --output FILE          write the report to FILE; standard output then has one line per document
  --quiet                list only what fails, and print nothing about good documents
  --ignore-file FILE     accepted findings, each with a rule, a reason and an expiry
  --baseline FILE        known findings: only new ones fail
  --write-baseline FILE  write the findings of this run as the baseline

Exit codes: 0 good, 1 not good enough or breaking, 2 trouble.
`

const COMMON = {
  'fail-severity': { type: 'string' },
  root: { type: 'string' },
  format: { type: 'string' },
  output: { type: 'string' },
  quiet: { type: 'boolean' },
  'ignore-file': { type: 'string' },
  baseline: { type: 'string' },
  'write-baseline': { type: 'string' },
  help: { type: 'boolean' },
} as const satisfies ParseArgsConfig['options']
const LINT = { ...COMMON, ruleset: { type: 'string' }, 'min-score': { type: 'string' } } as const
const BREAKING = { ...COMMON, ruleset: { type: 'string' }, 'fail-on-breaking': { type: 'boolean' } } as const

export function readGateSettings(command: GateCommand, args: readonly string[]): GateArguments {
  try {
    return command === 'lint' ? readLint(args) : readBreaking(args)
  } catch (cause) {
    return refuse((cause as Error).message)
  }
}

function readLint(args: readonly string[]): GateArguments {
  const { values, positionals: files } = parseArgs({ args: [...args], options: LINT, allowPositionals: true })
  const common = readCommon(values)
  if ('text' in common) return common
  if (files.length === 0) return refuse('Name at least one file.')
  const score = values['min-score'] ?? '0'
  const minScore = Number(score)
  if (score.trim() === '' || !(minScore >= 0 && minScore <= 100)) return refuse('--min-score takes 0 to 100.')
  return { command: 'lint', files, ruleset: values.ruleset ?? null, minScore, ...common }
}

function readBreaking(args: readonly string[]): GateArguments {
  const { values, positionals } = parseArgs({ args: [...args], options: BREAKING, allowPositionals: true })
  const common = readCommon(values)
  if ('text' in common) return common
  const [previous, next, ...others] = positionals
  if (previous === undefined || next === undefined || others.length > 0) {
    return refuse('Name two files: the old version and the new one.')
  }
  if (previous === '-' && next === '-') return refuse('Only one of the two files can be standard input.')
  const { ruleset = null, 'fail-on-breaking': failOnBreaking = false } = values
  return { command: 'breaking', previous, next, ruleset, failOnBreaking, ...common }
}

type CommonValues = ReturnType<typeof parseArgs<{ options: typeof COMMON }>>['values']

function readCommon(values: CommonValues): (JudgeSettings & OutputSettings) | GateText {
  if (values.help === true) return { command: 'text', text: GATE_HELP, isFault: false }
  const format = REPORT_FORMATS.find((known) => known === (values.format ?? 'text'))
  if (format === undefined) return refuse(`--format takes one of ${REPORT_FORMATS.join(', ')}.`)
  const least = values['fail-severity'] ?? 'error'
  const failSeverity = least === 'off' ? null : SEVERITIES.find((known) => known === least)
  if (failSeverity === undefined) return refuse(`--fail-severity takes one of ${SEVERITIES.join(', ')}, off.`)
  return {
    format,
    output: values.output ?? null,
    quiet: values.quiet === true,
    failSeverity,
    root: values.root ?? null,
    ignoreFile: values['ignore-file'] ?? null,
    baseline: values.baseline ?? null,
    writeBaseline: values['write-baseline'] ?? null,
  }
}

function refuse(text: string): GateText {
  return { command: 'text', text: `tollgate: ${text}\n\n${GATE_HELP}`, isFault: true }
}
