/**
 * Lints a document: whether the gateway can serve it, its findings, and its score.
 *
 * Each rule of our own is one pass over the operations or schemas, so that a document of 10 MB takes seconds; the Spectral rules
 * run on an excerpt of a document of that size. Findings are sorted, stable between runs, and capped; the rest is counted.
 */

import { createHash } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import type { Fields } from '../../json/fields.ts'
import { toSwaggerSpots } from '../convert/swagger-pointer.ts'
import { parseDocumentBytes } from '../parse-document.ts'
import type { Coverage } from '../spectral/engine.ts'
import { EMPTY_RULESET, severityIn, type RulesetDocument } from '../ruleset-document.ts'
import { readSpecification, type Specification } from '../specification.ts'
import { COVERAGE_RULES, gapsOf, unfinished } from './coverage-rules.ts'
import { DESIGN_RULES } from './design-rules.ts'
import { DOCUMENTATION_RULES } from './documentation-rules.ts'
import { compareFindings, FINDINGS_MAX, type Finding, type Spot } from '../finding.ts'
import { toLintDocument } from './lint-document.ts'
import { ORIGIN_RULES } from './origin-rules.ts'
import { findPlaces } from './places.ts'
import type { Rule } from './rule.ts'
import { toStablePointer } from './stable-pointer.ts'
import { scoreOf, type RuleCount, type Score } from './score.ts'
import { SECURITY_RULES } from './security-rules.ts'

export interface LintResult extends Score {
  /** Whether the gateway can serve the document. */
  readonly isServable: boolean
  readonly findings: readonly Finding[]
  /** Findings beyond the cap. */
  readonly omitted: number
  /** Coverage of the Spectral rules; null if the document cannot be served, so that no rule was applied. */
  readonly coverage: Coverage | null
}

interface ServableOptions {
  /** Receives the result of our own rules, which holds if the Spectral rules do not finish. */
  readonly onOwnResult?: (partial: LintResult) => void
  /** A cap on findings; the rest is counted. */
  readonly findingsMax?: number
}

const RULES: readonly Rule[] = [...DESIGN_RULES, ...DOCUMENTATION_RULES, ...SECURITY_RULES, ...ORIGIN_RULES]
/** All rules that run outside Spectral. */
export const OWN_RULES: readonly Omit<Rule, 'find'>[] = [...RULES, ...COVERAGE_RULES]

const VALIDITY = { rule: 'valid', category: 'validity', severity: 'error' } as const
const VALIDITY_ADVICE = 'Correct the document; the gateway serves valid documents only.'

export async function lint(bytes: Uint8Array, ruleset: RulesetDocument = EMPTY_RULESET): Promise<LintResult> {
  const read = await readToLint(bytes)
  return 'faults' in read ? lintUnservable(bytes, read.faults) : lintServable(bytes, read, ruleset)
}

/**
 * Lints a document that can be served; `bytes` give the findings their positions. */
export async function lintServable(
  bytes: Uint8Array,
  { document, swagger, operations, mediaType }: Specification,
  ruleset: RulesetDocument,
  { onOwnResult = () => {}, findingsMax = FINDINGS_MAX }: ServableOptions = {},
): Promise<LintResult> {
  const own = [...spotsIn(document, ruleset)]
  const text = new TextDecoder().decode(bytes)
  const resultOf = (spots: readonly Spot[], coverage: Coverage): LintResult =>
    toResult(toSwaggerSpots(swagger, [...spots, ...gapSpots(coverage, ruleset)]), {
      coverage,
      text,
      isJson: mediaType === 'application/json',
      document: swagger ?? document,
      findingsMax,
    })
  onOwnResult(resultOf(own, unfinished(operations.length)))
  // Imported on demand: loading takes a third of a second.
  const { judgeBySpectral } = await import('../spectral/engine.ts')
  const { findings, ...coverage } = await judgeBySpectral(document, operations, ruleset)
  return resultOf([...own, ...findings], coverage)
}

export async function readToLint(bytes: Uint8Array): Promise<Specification | { readonly faults: readonly Spot[] }> {
  try {
    return await readSpecification(bytes)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const faults = cause.errors.map(({ pointer, detail }) => ({
      ...VALIDITY,
      message: detail,
      advice: VALIDITY_ADVICE,
      pointer,
    }))
    return { faults }
  }
}

export function lintUnservable(bytes: Uint8Array, faults: readonly Spot[], findingsMax = FINDINGS_MAX): LintResult {
  const parsed = parseDocumentBytes(bytes)
  if ('fault' in parsed) {
    const result = toResult(faults, { coverage: null, text: '', isJson: false, document: null, findingsMax })
    // A document that does not parse has no pointers, but may have a position.
    return { ...result, findings: result.findings.map((finding) => ({ ...finding, ...parsed.place })) }
  }
  const isJson = parsed.mediaType === 'application/json'
  return toResult(faults, {
    coverage: null,
    text: new TextDecoder().decode(bytes),
    isJson,
    document: parsed.value,
    findingsMax,
  })
}

function* spotsIn(fields: Fields, ruleset: RulesetDocument): Iterable<Spot> {
  const document = toLintDocument(fields)
  for (const { id: rule, category, severity: own, message, advice, find } of RULES) {
    const severity = severityIn(ruleset, rule, own, own)
    if (severity === 'off') continue
    for (const found of find(document)) {
      const spot = typeof found === 'string' ? { pointer: found, message } : found
      yield { rule, category, severity, advice, ...spot }
    }
  }
}

function* gapSpots(coverage: Coverage, ruleset: RulesetDocument): Iterable<Spot> {
  for (const { id: rule, category, severity: own, message, advice } of gapsOf(coverage)) {
    const severity = severityIn(ruleset, rule, own, own)
    if (severity !== 'off') yield { rule, category, severity, message, advice, pointer: '' }
  }
}

interface ResultOptions {
  readonly coverage: Coverage | null
  readonly text: string
  readonly isJson: boolean
  /** The value of `text`, as far as it is known. */
  readonly document: unknown
  readonly findingsMax: number
}

function toResult(
  spots: readonly Spot[],
  { coverage, text, isJson, document, findingsMax }: ResultOptions,
): LintResult {
  const isServable = coverage !== null
  const sorted = [...spots].sort(compareFindings)
  const shown = sorted.slice(0, findingsMax)
  const placeOf = findPlaces(
    text,
    isJson,
    shown.map(({ pointer }) => pointer),
  )
  return {
    ...scoreOf(countsOf(sorted), isServable),
    isServable,
    findings: shown
      .map((spot) => ({
        ...spot,
        ...placeOf(spot.pointer),
        fingerprint: fingerprintOf(spot, document),
        principle: null,
      }))
      .sort(compareFindings),
    omitted: sorted.length - shown.length,
    coverage,
  }
}

function countsOf(spots: readonly Spot[]): readonly RuleCount[] {
  const counts = new Map<string, RuleCount>()
  for (const { rule, category, severity } of spots) {
    counts.set(rule, { rule, category, severity, count: (counts.get(rule)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

/** Depends on the rule and the place only, so that it survives changes of other lines and of the order of a list. */
function fingerprintOf({ rule, pointer }: Spot, document: unknown): string {
  return createHash('sha256')
    .update(`${rule} ${toStablePointer(document, pointer)}`)
    .digest('hex')
    .slice(0, 16)
}
