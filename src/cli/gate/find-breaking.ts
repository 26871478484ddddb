/** `tollgate breaking`: lists the changes from one version of a document to the next, with their places in both. */

import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Problem } from '../../domain/problem.ts'
import { compareDocuments, type Change } from '../../governance/compare/compare-documents.ts'
import { createLinter } from '../../governance/lint/linter.ts'
import { findPlaces, type PlaceOf } from '../../governance/lint/places.ts'
import { parseDocumentBytes } from '../../governance/parse-document.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../../governance/ruleset-document.ts'
import { readSpecification, type Specification } from '../../governance/specification.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { ReportPlace, Severity } from '../report/report.ts'
import type { BreakingSettings } from './gate-settings.ts'
import { InputFault } from './input-fault.ts'
import { judgeFindings, type JudgeOptions, type RawFinding } from './judge-findings.ts'
import { readRuleset, type Judged } from './lint-documents.ts'
import { readInput, type Input } from './read-input.ts'

interface Version {
  readonly file: string
  readonly placeOf: PlaceOf
}

const SEVERITY_OF: Readonly<Record<Change['level'], Severity>> = { breaking: 'error', warning: 'warning', info: 'info' }

/** Throws `InputFault` if one of the two cannot be read, because then nothing can be compared. */
export async function findBreaking(
  settings: BreakingSettings,
  options: JudgeOptions,
  { stdin, nowMs }: { readonly stdin: Readable; readonly nowMs: number },
): Promise<Judged> {
  const before = await readSide(await readInput(settings.previous, stdin))
  const after = await readSide(await readInput(settings.next, stdin))
  const changes = compareDocuments(before.specification, after.specification, nowMs, {
    ruleset: settings.ruleset === null ? EMPTY_RULESET : await readPolicy(settings.ruleset, stdin),
  })
  const previousPointers = changes.flatMap(({ previousPointer }) => (previousPointer === null ? [] : [previousPointer]))
  const previous = toVersion(before, previousPointers)
  const next = toVersion(
    after,
    changes.map(({ pointer }) => pointer),
  )
  const allowance = settings.failOnBreaking ? null : allowanceOf(before.specification, after.specification)
  const findings = changes.map((change) => toRaw(change, previous, next, allowance))
  const { file } = after
  const judgement = judgeFindings([{ file, findings }], options)
  const notes = allowance === null ? [] : [`${file} is ${allowance}`]
  const documents = [{ file, score: null, findings: judgement.findings[0]!, notes }]
  return { documents, troubles: [], baselineText: judgement.baselineText }
}

async function readPolicy(file: string, stdin: Readable): Promise<RulesetDocument> {
  const linter = createLinter({ clock: systemClock, log: { error: () => {} } })
  try {
    return await readRuleset(file, linter, stdin)
  } finally {
    await linter.close()
  }
}

interface ReadSide extends Input {
  readonly specification: Specification
}

async function readSide(input: Input): Promise<ReadSide> {
  const { file, bytes } = input
  try {
    return { ...input, specification: await readSpecification(bytes) }
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const { pointer, detail } = cause.errors[0] ?? { pointer: '', detail: cause.message }
    const place = placeOfFault(input, pointer)
    throw new InputFault(file, `${place}: it cannot be compared: ${toSentence(pointer, detail)}`, { cause })
  }
}

/** The library that checks documents writes the predicate only: `must be object`. */
function toSentence(pointer: string, detail: string): string {
  return detail.endsWith('.') ? detail : `${pointer || 'the document'} ${detail}.`
}

function placeOfFault({ file, bytes }: Input, pointer: string): string {
  const parsed = parseDocumentBytes(bytes)
  const isJson = 'value' in parsed && parsed.mediaType === 'application/json'
  const place =
    'value' in parsed ? findPlaces(new TextDecoder().decode(bytes), isJson, [pointer])(pointer) : parsed.place
  return place === undefined ? file : `${file}:${place.line}:${place.column}`
}

function toVersion({ file, bytes, specification }: ReadSide, pointers: readonly string[]): Version {
  const isJson = specification.mediaType === 'application/json'
  return { file, placeOf: findPlaces(new TextDecoder().decode(bytes), isJson, pointers) }
}

/** A new major version may break, because its callers migrate to it. */
function allowanceOf(previous: Specification, next: Specification): string | null {
  if (next.major <= previous.major) return null
  return `a new major version: ${next.version} after ${previous.version}`
}

function toRaw(change: Change, previous: Version, next: Version, allowance: string | null): RawFinding {
  const { id, level, pointer, previousPointer, message, operations } = change
  const fingerprint = createHash('sha256').update(`${id} ${pointer} ${message}`).digest('hex').slice(0, 16)
  return {
    rule: id,
    severity: SEVERITY_OF[level],
    message,
    advice: '',
    pointer,
    place: toPlace(next, pointer),
    previousPlace: previousPointer === null ? null : toPlace(previous, previousPointer),
    operations,
    fingerprint,
    allowance: level === 'breaking' ? allowance : null,
  }
}

function toPlace({ file, placeOf }: Version, pointer: string): ReportPlace {
  return { file, ...placeOf(pointer) }
}
