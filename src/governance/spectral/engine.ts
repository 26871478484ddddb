/**
 * Runs Spectral's OpenAPI rules, the OWASP rules and a tenant's custom rules on an excerpt of a document.
 *
 * Callers run it in a thread with a deadline and a memory limit. It fetches nothing and evaluates no expression of a document or
 * ruleset. A rule that throws is reported by name, and the other rules still run.
 */

import spectralCore, { type ISpectralDiagnostic } from '@stoplight/spectral-core'
import refResolver from '@stoplight/spectral-ref-resolver'
import type { ProblemPointer } from '../../domain/problem.ts'
import type { Fields } from '../../json/fields.ts'
import type { FindingSeverity, Spot } from '../finding.ts'
import type { DeclaredOperation } from '../operations.ts'
import { escapePointer } from '../../json/references.ts'
import { compileRuleset, FORMATS, RULESETS } from './compile-ruleset.ts'
import { excerptOf, original, pointerOf } from './excerpt.ts'
import { KNOWN_RULES, SPECTRAL_OAS } from './known-rules.ts'
import { FUNCTIONS } from './linear-functions.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import { vetRuleset } from './vet-ruleset.ts'

/** The part of a document to which the Spectral rules were applied. */
export interface Coverage {
  /** Number of operations checked, of all operations of the document. */
  readonly operations: number
  readonly of: number
  /** Rules that threw, with the reason. */
  readonly failed: readonly { readonly rule: string; readonly detail: string }[]
}

export interface SpectralJudgement extends Coverage {
  readonly findings: readonly Spot[]
}

/** Corresponds to about one second of Spectral. */
const STEPS_MAX = 100_000
/** Above this number of rules, the excerpt shrinks in proportion. */
const FULL_EXCERPT_RULES_MAX = 30
const MESSAGE_MAX = 500
const FAILED_ADVICE = 'Guard the rule against values that it does not expect, for example with `@ && @.type`.'
const BY_NUMBER: readonly FindingSeverity[] = ['error', 'warning', 'info', 'info']
const NOWHERE = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }

/** Returns the faults of a tenant's ruleset; `ownRules` names the rules that run outside Spectral. */
export function faultsOfRuleset(document: RulesetDocument, ownRules: ReadonlySet<string>): readonly ProblemPointer[] {
  const faults = vetRuleset(document, {
    rules: new Set([...ownRules, ...KNOWN_RULES.map(({ id }) => id)]),
    aliases: new Set(Object.keys(SPECTRAL_OAS.aliases ?? {})),
    functions: new Set(Object.keys(FUNCTIONS)),
    formats: new Set(Object.keys(FORMATS)),
    rulesets: new Set(Object.keys(RULESETS)),
  })
  if (faults.length > 0) return faults
  try {
    const { rules, only } = compileRuleset(document)
    only(rules)
    return []
  } catch (cause) {
    return refusals(cause)
  }
}

/** Converts Spectral's errors, mostly invalid options of a function. */
function refusals(cause: unknown): readonly ProblemPointer[] {
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
  return causes.map((one) => {
    const { path, message } = one as { readonly path?: readonly string[]; readonly message?: string }
    const pointer = Array.isArray(path) ? path.map((part) => `/${escapePointer(String(part))}`).join('') : '/rules'
    return { pointer, detail: String(message ?? one).slice(0, MESSAGE_MAX) }
  })
}

export async function judgeBySpectral(
  document: Fields,
  operations: readonly DeclaredOperation[],
  ruleset: RulesetDocument,
): Promise<SpectralJudgement> {
  const { rules, only, describe } = compileRuleset(ruleset)
  const stepsMax = STEPS_MAX * Math.min(1, FULL_EXCERPT_RULES_MAX / Math.max(1, rules.length))
  const excerpt = excerptOf(document, operations, stepsMax)
  if (excerpt.document === null) return { findings: [], operations: 0, of: excerpt.of, failed: [] }
  const failed: { rule: string; detail: string }[] = []

  /** Runs the rules; if one throws, finds it by bisection, because Spectral then aborts all of them. */
  async function run(some: readonly string[]): Promise<readonly ISpectralDiagnostic[]> {
    if (some.length === 0) return []
    const spectral = new spectralCore.Spectral({ resolver: new refResolver.Resolver({ resolvers: {} }) })
    try {
      spectral.setRuleset(only(some))
      return await spectral.run({
        // Spectral freezes its input.
        parsed: { data: structuredClone(excerpt.document), diagnostics: [], ast: {}, lineMap: [] },
        getLocationForJsonPath: () => ({ range: NOWHERE }),
        source: '/document',
      } as never)
    } catch (cause) {
      if (some.length === 1) {
        failed.push({ rule: some[0]!, detail: original(messageOf(cause)).slice(0, MESSAGE_MAX) })
        return []
      }
      const half = some.length >> 1
      return [...(await run(some.slice(0, half))), ...(await run(some.slice(half)))]
    }
  }

  const known = new Set(rules)
  const kept = (await run(rules))
    // Drops Spectral's own results on references, which were checked before.
    .filter(({ code }) => known.has(String(code)))
    .map(({ code, severity, message, path }) => {
      const rule = String(code)
      const { category, advice } = describe(rule)
      const text = original(message).slice(0, MESSAGE_MAX)
      return {
        rule,
        category,
        severity: BY_NUMBER[severity]!,
        message: text,
        advice: advice ?? text,
        pointer: pointerOf(path),
      }
    })
  const notKept = failed.map(({ rule, detail }) => {
    const { category, severity } = describe(rule)
    const message = `The rule could not be applied: ${detail}`
    return { rule, category, severity, message, advice: FAILED_ADVICE, pointer: '' }
  })
  return { findings: [...kept, ...notKept], operations: excerpt.operations, of: excerpt.of, failed }
}

function messageOf(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause
  const inner = first instanceof Error && first.cause instanceof Error ? first.cause : first
  return inner instanceof Error ? inner.message : String(inner)
}
