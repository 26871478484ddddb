/** Compiles a tenant's ruleset document to a ruleset of Spectral's engine. */

import spectralCore, { type RuleDefinition, type Ruleset, type RulesetDefinition } from '@stoplight/spectral-core'
import spectralFormats from '@stoplight/spectral-formats'
import type { FindingCategory, FindingSeverity } from '../finding.ts'
import { KNOWN_RULES, SPECTRAL_OAS, SPECTRAL_OWASP, type KnownRule } from './known-rules.ts'
import { FUNCTIONS, makeSchemasLinear } from './linear-functions.ts'
import {
  isDefinition,
  isObject,
  levelOf,
  ownSeverityOf,
  severityIn,
  type RulesetDocument,
} from '../ruleset-document.ts'

export interface CompiledRuleset {
  /** Names of the active rules. */
  readonly rules: readonly string[]
  /** Returns a ruleset for the engine with some of the rules. Throws Spectral's own errors if a rule is invalid. */
  only(rules: readonly string[]): Ruleset
  /** Returns the properties of an active rule. */
  describe(rule: string): Omit<ActiveRule, 'definition'>
}

interface ActiveRule {
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  /** Null if the author of the rule gives no advice. */
  readonly advice: string | null
  /** A custom rule may follow any reference; a known one does not depend on those between schemas. */
  readonly kind: 'custom' | 'unresolved' | 'resolved'
  readonly definition: Word | RuleDefinition
}

/** By the names that `extends` accepts. */
export const RULESETS: Readonly<Record<string, RulesetDefinition>> = {
  'spectral:oas': SPECTRAL_OAS,
  'spectral:owasp': SPECTRAL_OWASP,
  // The names that its users know.
  '@stoplight/spectral-owasp-ruleset': SPECTRAL_OWASP,
  'https://unpkg.com/@stoplight/spectral-owasp-ruleset/dist/ruleset.mjs': SPECTRAL_OWASP,
}
const { oas3, oas3_0, oas3_1, oas3_2 } = spectralFormats
export const FORMATS = { oas3, oas3_0, oas3_1, oas3_2 } as const
const WORDS = { error: 'error', warning: 'warn', info: 'info' } as const
type Word = (typeof WORDS)[keyof typeof WORDS]
const RULESETS_KEPT = 8

makeSchemasLinear()

const compiled = new Map<string, CompiledRuleset>()

/** Compiles a ruleset that was checked before. */
export function compileRuleset(document: RulesetDocument): CompiledRuleset {
  const key = JSON.stringify(document)
  const found = compiled.get(key)
  if (found !== undefined) return found
  if (compiled.size >= RULESETS_KEPT) compiled.clear()
  const made = compile(document)
  compiled.set(key, made)
  return made
}

function compile(document: RulesetDocument): CompiledRuleset {
  const active = new Map<string, ActiveRule>()
  const added = extended(document)
  for (const { id, category, severity: own, standard, leftOut, description, isResolved } of KNOWN_RULES) {
    const severity = severityIn(document, id, added.has(id) ? own : leftOut === null ? standard : 'off', own)
    const kind = isResolved ? 'resolved' : 'unresolved'
    if (severity !== 'off')
      active.set(id, { category, severity, advice: description, kind, definition: WORDS[severity] })
  }
  for (const [name, given] of Object.entries(document.rules)) {
    if (!isDefinition(given)) continue
    if (levelOf(given['severity']) === 'off') continue
    const severity = ownSeverityOf(given['severity'])
    const advice = given['description'] === undefined ? null : String(given['description'])
    const definition = toDefinition(given, WORDS[severity], document.formats)
    active.set(name, { category: 'design', severity, advice, kind: 'custom', definition })
  }
  return {
    rules: [...active.keys()],
    only: (rules) =>
      new spectralCore.Ruleset({
        extends: [
          [SPECTRAL_OAS, 'off'],
          [SPECTRAL_OWASP, 'off'],
        ],
        aliases: { ...SPECTRAL_OAS.aliases, ...(document.aliases as Record<string, string[]> | undefined) },
        rules: Object.fromEntries(rules.map((rule) => [rule, active.get(rule)!.definition])),
      }),
    describe: (rule) => active.get(rule)!,
  }
}

/** Rules that `extends` adds. */
function extended({ extends: given }: RulesetDocument): ReadonlySet<string> {
  const entries: readonly unknown[] = given === undefined ? [] : Array.isArray(given) ? given : [given]
  const added = new Set<string>()
  for (const entry of entries) {
    const [name, extent = 'recommended'] = (Array.isArray(entry) ? entry : [entry]) as readonly string[]
    const ruleset = RULESETS[name ?? '']
    const names = new Set(ruleset !== undefined && 'rules' in ruleset ? Object.keys(ruleset.rules) : [])
    const isAdded = ({ id, isRecommended }: KnownRule): boolean =>
      names.has(id) && (extent === 'all' || (extent === 'recommended' && isRecommended))
    for (const rule of KNOWN_RULES) if (isAdded(rule)) added.add(rule.id)
  }
  return added
}

function toDefinition(
  given: Readonly<Record<string, unknown>>,
  severity: Word,
  standardFormats: unknown,
): RuleDefinition {
  const { description, message, documentationUrl, resolved } = given
  const formats = ((given['formats'] ?? standardFormats) as readonly (keyof typeof FORMATS)[] | undefined) ?? ['oas3']
  const toThen = (one: unknown) => {
    const { field, function: called, functionOptions } = isObject(one) ? one : {}
    return {
      ...(field !== undefined && { field: String(field) }),
      function: FUNCTIONS[String(called)]!,
      ...(functionOptions !== undefined && { functionOptions }),
    }
  }
  return {
    given: given['given'] as string | string[],
    severity,
    formats: formats.map((format) => FORMATS[format]),
    then: Array.isArray(given['then']) ? given['then'].map(toThen) : toThen(given['then']),
    ...(description !== undefined && { description: String(description) }),
    ...(message !== undefined && { message: String(message) }),
    ...(documentationUrl !== undefined && { documentationUrl: String(documentationUrl) }),
    ...(resolved !== undefined && { resolved: resolved === true }),
  }
}
