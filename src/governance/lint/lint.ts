/**
 * Judges a document: whether it can be served, what is wrong with it and what could be better, and what
 * that makes of its score.
 *
 * Every rule is one pass over the operations or schemas, so that a document of 10 MB is judged in seconds.
 * Findings are sorted, the same from run to run, and capped; the rest is counted.
 */

import { createHash } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import { fieldsOf } from '../fields.ts'
import { parseDocumentBytes } from '../parse-document.ts'
import { readSpecification } from '../specification.ts'
import { DESIGN_RULES } from './design-rules.ts'
import { DOCUMENTATION_RULES } from './documentation-rules.ts'
import { compareFindings, type Finding } from './finding.ts'
import { toLintDocument } from './lint-document.ts'
import type { Severities } from './finding.ts'
import { findPlaces } from './places.ts'
import type { Rule } from './rule.ts'
import { scoreOf, type RuleCount, type Score } from './score.ts'
import { SECURITY_RULES } from './security-rules.ts'

export interface LintResult extends Score {
  /** It can be served as it is. */
  readonly isServable: boolean
  readonly findings: readonly Finding[]
  /** Findings beyond the cap. */
  readonly omitted: number
}

export const RULES: readonly Rule[] = [...DESIGN_RULES, ...DOCUMENTATION_RULES, ...SECURITY_RULES]

type Spot = Omit<Finding, 'line' | 'column' | 'fingerprint' | 'principle'>

const FINDINGS_MAX = 500
const VALIDITY = { rule: 'valid', category: 'validity', severity: 'error' } as const
const VALIDITY_ADVICE = 'Correct it: a document that is not valid cannot be served.'

export async function lint(bytes: Uint8Array, severities: Severities = {}): Promise<LintResult> {
  const parsed = parseDocumentBytes(bytes)
  if ('fault' in parsed)
    return toResult([{ ...VALIDITY, message: parsed.fault, advice: VALIDITY_ADVICE, pointer: '' }], false, '', false)
  const text = new TextDecoder().decode(bytes)
  const isJson = parsed.mediaType === 'application/json'
  const faults = await faultsOf(bytes)
  const isServable = faults.length === 0
  // Rules follow references, which are only known to end where the document is valid.
  const spots = isServable ? [...spotsIn(fieldsOf(parsed.value), severities)] : faults
  return toResult(spots, isServable, text, isJson)
}

async function faultsOf(bytes: Uint8Array): Promise<readonly Spot[]> {
  try {
    await readSpecification(bytes)
    return []
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    return cause.errors.map(({ pointer, detail }) => ({
      ...VALIDITY,
      message: detail,
      advice: VALIDITY_ADVICE,
      pointer,
    }))
  }
}

function* spotsIn(fields: ReturnType<typeof fieldsOf>, severities: Severities): Iterable<Spot> {
  const document = toLintDocument(fields)
  for (const { id: rule, category, severity: own, message, advice, find } of RULES) {
    const severity = (Object.hasOwn(severities, rule) ? severities[rule] : undefined) ?? own
    if (severity === 'off') continue
    for (const found of find(document)) {
      const spot = typeof found === 'string' ? { pointer: found, message } : found
      yield { rule, category, severity, advice, ...spot }
    }
  }
}

function toResult(spots: readonly Spot[], isServable: boolean, text: string, isJson: boolean): LintResult {
  const sorted = [...spots].sort(compareFindings)
  const shown = sorted.slice(0, FINDINGS_MAX)
  const placeOf = findPlaces(
    text,
    isJson,
    shown.map(({ pointer }) => pointer),
  )
  return {
    ...scoreOf(countsOf(sorted), isServable),
    isServable,
    findings: shown.map((spot) => ({
      ...spot,
      ...placeOf(spot.pointer),
      fingerprint: fingerprintOf(spot),
      principle: null,
    })),
    omitted: sorted.length - shown.length,
  }
}

function countsOf(spots: readonly Spot[]): readonly RuleCount[] {
  const counts = new Map<string, RuleCount>()
  for (const { rule, category, severity } of spots) {
    counts.set(rule, { rule, category, severity, count: (counts.get(rule)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

/** Stays the same while the place does, whatever its line. */
function fingerprintOf({ rule, pointer }: Spot): string {
  return createHash('sha256').update(`${rule} ${pointer}`).digest('hex').slice(0, 16)
}
