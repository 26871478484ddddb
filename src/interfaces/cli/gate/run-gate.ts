/** Runs `tollgate lint` or `tollgate breaking` on this machine, writes the report, and returns the exit code. */

import { writeFile } from 'node:fs/promises'
import { toPlain } from '../../../foundation/domain/plain-text.ts'
import { formatReport } from '../report/format-report.ts'
import { EXIT_GOOD, EXIT_TROUBLE, exitCodeOf, type Report } from '../report/report.ts'
import { toVerdictLines } from '../report/text-report.ts'
import { NO_BASELINE, readBaseline } from './baseline.ts'
import { findBreaking } from './find-breaking.ts'
import { readGateSettings, type GateCommand, type GateSettings } from './gate-settings.ts'
import { NO_IGNORES, readIgnores } from './ignore-file.ts'
import { InputFault } from './input-fault.ts'
import type { JudgeOptions } from './judge-findings.ts'
import { lintDocuments, type Judged, type LintMeans } from './lint-documents.ts'
import { readOptionFile } from './option-file.ts'

export interface GateStreams extends LintMeans {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly colour: boolean
  readonly nowMs: number
}

export async function runGate(command: GateCommand, args: readonly string[], streams: GateStreams): Promise<number> {
  const settings = readGateSettings(command, args)
  if (settings.command === 'text') {
    const { text, isFault } = settings
    ;(isFault ? streams.err : streams.out)(text)
    return isFault ? EXIT_TROUBLE : EXIT_GOOD
  }
  try {
    const { report, baselineText } = await judge(settings, streams)
    if (settings.writeBaseline !== null && baselineText !== null && report.troubles.length === 0) {
      await write(settings.writeBaseline, baselineText)
    }
    await publish(report, settings, streams)
    return exitCodeOf(report)
  } catch (cause) {
    if (!(cause instanceof InputFault)) throw cause
    streams.err(`tollgate: ${toPlain(cause.message)}\n`)
    return EXIT_TROUBLE
  }
}

/** Returns the report; an input that cannot be used becomes trouble in it, so that every format shows it. */
async function judge(
  settings: GateSettings,
  streams: GateStreams,
): Promise<{ readonly report: Report; readonly baselineText: string | null }> {
  const { command } = settings
  try {
    const options = await readJudgeOptions(settings, streams)
    const { documents, troubles, baselineText } = await run(settings, options, streams)
    const notes = troubles.length > 0 ? [] : options.ignores.notes()
    return { report: { command, documents, troubles, notes }, baselineText }
  } catch (cause) {
    if (!(cause instanceof InputFault)) throw cause
    const troubles = [{ file: cause.file, message: cause.message }]
    return { report: { command, documents: [], troubles, notes: [] }, baselineText: null }
  }
}

function run(settings: GateSettings, options: JudgeOptions, streams: GateStreams): Promise<Judged> {
  if (settings.command === 'lint') return lintDocuments(settings, options, streams)
  return findBreaking(settings, options, streams)
}

async function readJudgeOptions(settings: GateSettings, { stdin, nowMs }: GateStreams): Promise<JudgeOptions> {
  const { failSeverity, ignoreFile, baseline, writeBaseline } = settings
  return {
    failSeverity,
    ignores:
      ignoreFile === null
        ? NO_IGNORES
        : readIgnores(ignoreFile, await readOptionFile('ignore-file', ignoreFile, stdin), nowMs),
    baseline:
      baseline === null ? NO_BASELINE : readBaseline(baseline, await readOptionFile('baseline', baseline, stdin)),
    makesBaseline: writeBaseline !== null,
  }
}

/** The report goes to standard output or to a file; trouble always goes to standard error. */
async function publish(report: Report, settings: GateSettings, { out, err, colour }: GateStreams): Promise<void> {
  const { format, output, quiet } = settings
  for (const { message } of report.troubles) err(`tollgate: ${toPlain(message)}\n`)
  if (output === null) return out(formatReport(report, { format, colour, quiet }))
  await write(output, formatReport(report, { format, colour: false, quiet }))
  if (!quiet) out(toVerdictLines(report, colour))
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (cause) {
    throw new InputFault(file, `${file} cannot be written (${(cause as NodeJS.ErrnoException).code}).`, { cause })
  }
}
