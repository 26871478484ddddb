/** `tollgate breaking`: lists the changes from one version of a document to the next, with their places in both. */

import { createHash } from 'node:crypto'
import { Problem } from '../../../foundation/domain/problem.ts'
import { RULES, type RuleId } from '../../../documents/governance/compare/change-rules.ts'
import { compareDocuments, type Change } from '../../../documents/governance/compare/compare-documents.ts'
import { createLinter as createOwnLinter } from '../../../documents/governance/lint/linter.ts'
import { findPlaces } from '../../../documents/governance/lint/places.ts'
import { toStablePointer } from '../../../documents/governance/lint/stable-pointer.ts'
import { parseDocumentBytes } from '../../../documents/governance/parse-document.ts'
import { readIdentity } from '../../../documents/governance/identity.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../../../documents/governance/ruleset-document.ts'
import { readJudged, type JudgedSpecification } from '../../../documents/governance/specification.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'
import { systemClock } from '../../../foundation/runtime/clock.ts'
import type { ReportPlace, Severity } from '../report/report.ts'
import type { BreakingSettings } from './gate-settings.ts'
import { InputFault } from './input-fault.ts'
import { judgeFindings, type JudgeOptions, type RawFinding } from './judge-findings.ts'
import { readRuleset, type Judged, type LintMeans } from './lint-documents.ts'
import { readDocument, type DocumentInput } from './read-document.ts'

interface Version {
  readonly document: unknown
  readonly placeOf: (pointer: string) => ReportPlace
}

const SEVERITY_OF: Readonly<Record<Change['level'], Severity>> = { breaking: 'error', warning: 'warning', info: 'info' }

/** Throws `InputFault` if one of the two cannot be read, because then nothing can be compared. */
export async function findBreaking(
  settings: BreakingSettings,
  options: JudgeOptions,
  means: LintMeans & { readonly nowMs: number },
): Promise<Judged> {
  const { stdin, nowMs } = means
  const before = await readSide(await readDocument(settings.previous, settings.root, stdin))
  const after = await readSide(await readDocument(settings.next, settings.root, stdin))
  const changes = compareDocuments(before.specification, after.specification, nowMs, {
    ruleset: settings.ruleset === null ? EMPTY_RULESET : await readPolicy(settings.ruleset, means),
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

async function readPolicy(
  file: string,
  { stdin, createLinter = createOwnLinter }: LintMeans,
): Promise<RulesetDocument> {
  const linter = createLinter({ clock: systemClock, log: { error: () => {} } })
  try {
    return await readRuleset(file, linter, stdin)
  } finally {
    await linter.close()
  }
}

interface ReadSide extends DocumentInput {
  readonly specification: JudgedSpecification
}

async function readSide(input: DocumentInput): Promise<ReadSide> {
  const { file, bytes } = input
  try {
    return { ...input, specification: readJudged(bytes) }
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const { pointer, detail } = cause.errors[0] ?? { pointer: '', detail: cause.message }
    const place = placeOfFault(input, pointer)
    const sentence = input.sources?.faults.get(pointer) ?? toSentence(pointer, detail)
    throw new InputFault(file, `${place}: it cannot be compared: ${sentence}`, { cause })
  }
}

/** The library that checks documents writes the predicate only: `must be object`. */
function toSentence(pointer: string, detail: string): string {
  return detail.endsWith('.') ? detail : `${pointer || 'the document'} ${detail}.`
}

function placeOfFault({ file, bytes, sources }: DocumentInput, pointer: string): string {
  if (sources !== null) {
    const found = sources.findPlaces([pointer])(pointer)
    return `${found.file}:${found.line}:${found.column}`
  }
  const parsed = parseDocumentBytes(bytes)
  const isJson = 'value' in parsed && parsed.mediaType === 'application/json'
  const place =
    'value' in parsed ? findPlaces(new TextDecoder().decode(bytes), isJson, [pointer])(pointer) : parsed.place
  return place === undefined ? file : `${file}:${place.line}:${place.column}`
}

function toVersion({ file, bytes, sources, specification }: ReadSide, pointers: readonly string[]): Version {
  const document = specification.swagger ?? specification.document
  if (sources !== null) return { document, placeOf: sources.findPlaces(pointers) }
  const isJson = specification.mediaType === 'application/json'
  const placeOf = findPlaces(new TextDecoder().decode(bytes), isJson, pointers)
  return { document, placeOf: (pointer) => ({ file, ...placeOf(pointer) }) }
}

/** A new major version may break, because its callers migrate to it. */
function allowanceOf(previous: JudgedSpecification, next: JudgedSpecification): string | null {
  const [before, after] = [readIdentity(previous.document).version, readIdentity(next.document).version]
  if (before === null || after === null || after.major <= before.major) return null
  return `a new major version: ${after.full} after ${before.full}`
}

function toRaw(change: Change, previous: Version, next: Version, allowance: string | null): RawFinding {
  const { id, level, pointer, previousPointer, message, operations } = change
  return {
    rule: id,
    severity: SEVERITY_OF[level],
    message,
    advice: '',
    pointer,
    place: next.placeOf(pointer),
    previousPlace: previousPointer === null ? null : previous.placeOf(previousPointer),
    operations,
    fingerprint: fingerprintOf(change, previous.document, next.document),
    allowance: level === 'breaking' ? allowance : null,
  }
}

/** Depends neither on positions in lists and in the text, nor on the wording of the rule. */
function fingerprintOf({ id, pointer, message }: Change, previous: unknown, next: unknown): string {
  const detail = message.slice(RULES[id as RuleId][1].length)
  // The pointer of what was removed is one into the earlier document.
  const document = resolvePointer(next, `#${pointer}`) === undefined ? previous : next
  const stable = toStablePointer(document, pointer, '*')
  return createHash('sha256').update(`${id} ${stable}${detail}`).digest('hex').slice(0, 16)
}
