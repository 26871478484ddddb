/**
 * Lints a document: whether the gateway can serve it, its findings, and its score.
 *
 * Each rule of our own is one pass over the operations or schemas, so that a document of 10 MB takes seconds; the Spectral rules
 * run on an excerpt of a document of that size. Findings are sorted, stable between runs, and capped; the rest is counted.
 */

import { createHash } from 'node:crypto'
import { Problem, type ProblemPointer } from '../../../foundation/domain/problem.ts'
import { toSwaggerSpots } from '../convert/swagger-pointer.ts'
import { parseDocumentBytes } from '../parse-document.ts'
import type { Budget, Coverage, UncheckedRule } from '../spectral/engine.ts'
import { EMPTY_RULESET, severityIn, type RulesetDocument } from '../ruleset-document.ts'
import { judge } from '../serving/verdict.ts'
import type { JudgedSpecification } from '../specification.ts'
import { COVERAGE_RULES, gapCounts, gapSpots, unfinished } from './coverage-rules.ts'
import { DEPLOYMENT_RULES } from './deployment-rules.ts'
import { DESIGN_RULES } from './design-rules.ts'
import { DOCUMENTATION_RULES } from './documentation-rules.ts'
import { compareFindings, FINDINGS_MAX, type Finding, type Spot } from '../finding.ts'
import { toLintDocument, type LintDocument } from './lint-document.ts'
import { ORIGIN_RULES } from './origin-rules.ts'
import { findPlaces } from './places.ts'
import type { Rule } from './rule.ts'
import { countRules, placesOf, uncheckedWeight } from './rule-counts.ts'
import { gainsOf, scoreOf, type Gain, type RuleCount, type Score } from './score.ts'
import { toStablePointer } from './stable-pointer.ts'
import { SECURITY_RULES } from './security-rules.ts'

export interface LintResult extends Score {
  /** Whether the gateway can serve the document. */
  readonly isServable: boolean
  readonly findings: readonly Finding[]
  /** Findings beyond the cap. */
  readonly omitted: number
  /** Coverage of the Spectral rules; null if the document cannot be served, so that no rule was applied. */
  readonly coverage: Coverage | null
  /** Rules to correct first, by the points that the score rises without their findings. */
  readonly recommendations: readonly Recommendation[]
}

export interface Recommendation extends Gain {
  readonly advice: string
}

interface ServableOptions {
  /** Receives the result of our own rules, which holds if the Spectral rules do not finish. */
  readonly onOwnResult?: (partial: LintResult) => void
  /** A cap on findings; the rest is counted. */
  readonly findingsMax?: number
  /** Bounds of the work of the Spectral rules. */
  readonly budget?: Budget
}

const RULES: readonly Rule[] = [
  ...DESIGN_RULES,
  ...DEPLOYMENT_RULES,
  ...DOCUMENTATION_RULES,
  ...SECURITY_RULES,
  ...ORIGIN_RULES,
]
/** All rules that run outside Spectral. */
export const OWN_RULES: readonly Omit<Rule, 'find'>[] = [...RULES, ...COVERAGE_RULES]

const PER: ReadonlyMap<string, Rule['per']> = new Map(RULES.map(({ id, per }) => [id, per]))
const RECOMMENDATIONS_MAX = 10
const VALIDITY = { rule: 'valid', category: 'validity', severity: 'error' } as const
const VALIDITY_ADVICE = 'Correct the document; the gateway serves valid documents only.'

export async function lint(bytes: Uint8Array, ruleset: RulesetDocument = EMPTY_RULESET): Promise<LintResult> {
  const read = await readToLint(bytes)
  return 'faults' in read ? lintUnservable(bytes, read.faults) : lintServable(bytes, read, ruleset)
}

/** Lints a document that can be served; `bytes` give the findings their positions. */
export async function lintServable(
  bytes: Uint8Array,
  { document, swagger, operations, mediaType }: JudgedSpecification,
  ruleset: RulesetDocument,
  { onOwnResult = () => {}, findingsMax = FINDINGS_MAX, budget }: ServableOptions = {},
): Promise<LintResult> {
  const lintDocument = toLintDocument(document)
  const own = [...spotsIn(lintDocument, ruleset)]
  const places = placesOf(lintDocument)
  const text = new TextDecoder().decode(bytes)
  const resultOf = (spots: readonly Spot[], coverage: Coverage, unchecked: readonly UncheckedRule[]): LintResult => {
    const found = countRules(spots, (rule) => places[PER.get(rule) ?? 'operation'])
    const counts = [...found, ...gapCounts(coverage, ruleset, uncheckedWeight(unchecked, found))]
    const isJson = mediaType === 'application/json'
    const shown = toSwaggerSpots(swagger, [...spots, ...gapSpots(coverage, ruleset)])
    return toResult(shown, { coverage, counts, text, isJson, document: swagger ?? document, findingsMax })
  }
  onOwnResult(resultOf(own, unfinished(operations.length), []))
  // Imported on demand: loading takes a third of a second.
  const { judgeBySpectral } = await import('../spectral/engine.ts')
  const { findings, coverage, unchecked } = await judgeBySpectral(document, operations, ruleset, budget)
  return resultOf([...own, ...findings], coverage, unchecked)
}

export async function readToLint(
  bytes: Uint8Array,
): Promise<JudgedSpecification | { readonly faults: readonly Spot[] }> {
  try {
    const { specification, faults } = judge(bytes)
    return faults.length === 0 ? specification : { faults: faults.map(toFaultSpot) }
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    return { faults: cause.errors.map(toFaultSpot) }
  }
}

function toFaultSpot({ pointer, detail }: ProblemPointer): Spot {
  return { ...VALIDITY, message: detail, advice: VALIDITY_ADVICE, pointer }
}

export function lintUnservable(bytes: Uint8Array, faults: readonly Spot[], findingsMax = FINDINGS_MAX): LintResult {
  const parsed = parseDocumentBytes(bytes)
  const counts = countRules(faults, () => 1)
  if ('fault' in parsed) {
    const result = toResult(faults, { coverage: null, counts, text: '', isJson: false, document: null, findingsMax })
    // A document that does not parse has no pointers, but may have a position.
    return { ...result, findings: result.findings.map((finding) => ({ ...finding, ...parsed.place })) }
  }
  const isJson = parsed.mediaType === 'application/json'
  const text = new TextDecoder().decode(bytes)
  return toResult(faults, { coverage: null, counts, text, isJson, document: parsed.value, findingsMax })
}

function* spotsIn(document: LintDocument, ruleset: RulesetDocument): Iterable<Spot> {
  for (const { id: rule, category, severity: own, message, advice, find } of RULES) {
    const severity = severityIn(ruleset, rule, own, own)
    if (severity === 'off') continue
    for (const found of find(document)) {
      const spot = typeof found === 'string' ? { pointer: found, message } : found
      yield { rule, category, severity, advice, ...spot }
    }
  }
}

interface ResultOptions {
  readonly coverage: Coverage | null
  readonly counts: readonly RuleCount[]
  readonly text: string
  readonly isJson: boolean
  /** The value of `text`, as far as it is known. */
  readonly document: unknown
  readonly findingsMax: number
}

function toResult(
  spots: readonly Spot[],
  { coverage, counts, text, isJson, document, findingsMax }: ResultOptions,
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
    ...scoreOf(counts, isServable),
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
    recommendations: recommend(spots, gainsOf(counts, isServable)),
  }
}

/** Adds the advice of the rules; a gap that the ruleset turns off has none and is left out. */
function recommend(spots: readonly Spot[], gains: readonly Gain[]): readonly Recommendation[] {
  const advices = new Map(spots.map(({ rule, advice }) => [rule, advice]))
  return gains
    .flatMap((gain) => (advices.has(gain.rule) ? [{ ...gain, advice: advices.get(gain.rule)! }] : []))
    .slice(0, RECOMMENDATIONS_MAX)
}

/** Depends on the rule and the place only, so that it survives changes of other lines and of the order of a list. */
function fingerprintOf({ rule, pointer }: Spot, document: unknown): string {
  return createHash('sha256')
    .update(`${rule} ${toStablePointer(document, pointer)}`)
    .digest('hex')
    .slice(0, 16)
}
