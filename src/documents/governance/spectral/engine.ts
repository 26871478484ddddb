/**
 * Runs Spectral's OpenAPI rules, the OWASP rules and a tenant's custom rules on an excerpt of a document.
 *
 * Callers run it in a thread with a deadline and a memory limit. It fetches nothing and evaluates no expression of a document or
 * ruleset. A rule that throws is reported by name, and the other rules still run.
 */

import spectralCore, { type ISpectralDiagnostic } from '@stoplight/spectral-core'
import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import type { Fields } from '../../../foundation/json/fields.ts'
import type { FindingSeverity, Spot } from '../finding.ts'
import type { DeclaredOperation } from '../operations.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import { compileRuleset, FORMATS, RULESETS, type CompiledRuleset } from './compile-ruleset.ts'
import { excerptOf, foldedExcerptOf, type Excerpt } from './excerpt.ts'
import { fold } from './fold.ts'
import { inert, original, pointerOf } from './inert.ts'
import { KNOWN_RULES, SPECTRAL_OAS } from './known-rules.ts'
import { FUNCTIONS } from './linear-functions.ts'
import type { RulesetDocument } from '../ruleset-document.ts'
import { keeping, resolving, type Resolver } from './resolvers.ts'
import { vetRuleset } from './vet-ruleset.ts'

/** The part of a document to which the Spectral rules were applied. */
export interface Coverage {
  /** Number of operations checked, of all operations of the document. */
  readonly operations: number
  readonly of: number
  /** Rules that threw, with the reason. */
  readonly failed: readonly { readonly rule: string; readonly detail: string }[]
}

export interface SpectralJudgement {
  readonly findings: readonly Spot[]
  readonly coverage: Coverage
  /** The rules that were not applied to all operations. */
  readonly unchecked: readonly UncheckedRule[]
}

/** Bounds of the work, in values that the engine visits. */
export interface Budget {
  readonly expanded: number
  readonly folded: number
}

export interface UncheckedRule {
  readonly rule: string
  readonly severity: FindingSeverity
  /** Share of the operations to which the rule was not applied. */
  readonly share: number
}

/** Name of the document, to which Spectral relates its references. */
const SOURCE = '/document'
/** Values that are visited: about 1.5 s for an expanded document, 8 s for a folded one. */
const BUDGET: Budget = { expanded: 100_000, folded: 1_000_000 }
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
  budget: Budget = BUDGET,
): Promise<SpectralJudgement> {
  const compiled = compileRuleset(ruleset)
  const { rules, describe } = compiled
  const failed: { rule: string; detail: string }[] = []
  const findings: Spot[] = []
  const unchecked: UncheckedRule[] = []
  let least = operations.length
  for (const { excerpt, rules: some, input, resolver } of planRuns(document, operations, compiled, budget)) {
    least = Math.min(least, excerpt.operations)
    const share = 1 - excerpt.operations / Math.max(1, excerpt.of)
    if (share > 0) unchecked.push(...some.map((rule) => ({ rule, severity: describe(rule).severity, share })))
    if (input === null) continue
    const results = await run(compiled, { input, resolver, failed }, some)
    findings.push(...toSpots(results, new Set(rules), describe))
  }
  findings.push(...failed.map((failure) => toFailure(failure, describe)))
  return { findings, coverage: { operations: least, of: operations.length, failed }, unchecked }
}

interface PlannedRun {
  readonly excerpt: Excerpt
  readonly rules: readonly string[]
  /** Null: no part of the document fits. */
  readonly input: Fields | null
  readonly resolver: Resolver
}

/** A small document is checked in one run; of a large one, each kind of rules gets the form that it can check in bounded time. */
function planRuns(
  document: Fields,
  operations: readonly DeclaredOperation[],
  { rules, describe }: CompiledRuleset,
  budget: Budget,
): readonly PlannedRun[] {
  const factor = Math.min(1, FULL_EXCERPT_RULES_MAX / Math.max(1, rules.length))
  const expanded = excerptOf(document, operations, budget.expanded * factor)
  const asItIs = { excerpt: expanded, input: expanded.document, resolver: resolving() }
  if (expanded.operations === operations.length && expanded.document !== null) return [{ ...asItIs, rules }]
  const excerpt = foldedExcerptOf(document, operations, budget.folded * factor)
  const of = (kind: string): readonly string[] => rules.filter((rule) => describe(rule).kind === kind)
  const input = excerpt.document === null ? null : fold(excerpt.document)
  const runs = [
    { excerpt, input, resolver: resolving(), rules: of('resolved') },
    { excerpt, input: excerpt.document, resolver: keeping(), rules: of('unresolved') },
    { ...asItIs, rules: of('custom') },
  ]
  return runs.filter((one) => one.rules.length > 0)
}

interface RunOptions {
  readonly input: Fields
  readonly resolver: Resolver
  readonly failed: { rule: string; detail: string }[]
}

/** Runs the rules; if one throws, finds it by bisection, because Spectral then aborts all of them. */
async function run(
  compiled: CompiledRuleset,
  options: RunOptions,
  some: readonly string[],
): Promise<readonly ISpectralDiagnostic[]> {
  if (some.length === 0) return []
  const { input, resolver, failed } = options
  const spectral = new spectralCore.Spectral({ resolver: resolver as never })
  try {
    spectral.setRuleset(compiled.only(some))
    return await spectral.run({
      // Spectral freezes its input.
      parsed: { data: inert(input), diagnostics: [], ast: {}, lineMap: [] },
      getLocationForJsonPath: () => ({ range: NOWHERE }),
      source: SOURCE,
    } as never)
  } catch (cause) {
    if (some.length === 1) {
      failed.push({ rule: some[0]!, detail: original(messageOf(cause)).slice(0, MESSAGE_MAX) })
      return []
    }
    const half = some.length >> 1
    return [...(await run(compiled, options, some.slice(0, half))), ...(await run(compiled, options, some.slice(half)))]
  }
}

function toSpots(
  results: readonly ISpectralDiagnostic[],
  known: ReadonlySet<string>,
  describe: CompiledRuleset['describe'],
): readonly Spot[] {
  return (
    results
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
  )
}

function toFailure({ rule, detail }: Coverage['failed'][number], describe: CompiledRuleset['describe']): Spot {
  const { category, severity } = describe(rule)
  const message = `The rule could not be applied: ${detail}`
  return { rule, category, severity, message, advice: FAILED_ADVICE, pointer: '' }
}

function messageOf(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause
  const inner = first instanceof Error && first.cause instanceof Error ? first.cause : first
  return inner instanceof Error ? inner.message : String(inner)
}
