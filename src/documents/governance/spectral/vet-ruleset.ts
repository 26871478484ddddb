/**
 * Checks a tenant's ruleset: all names are known, and custom rules are data, not programs.
 *
 * Rejects custom functions, paths with function calls, messages with expressions, and files or URLs to fetch, each with its
 * pointer.
 */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import { compileLinear } from '../../../foundation/json/linear-pattern.ts'
import { checkPath } from './given-path.ts'
import { isDefinition, isObject, levelOf, type RulesetDocument } from '../ruleset-document.ts'

export interface KnownNames {
  /** Names of the rules that exist. */
  readonly rules: ReadonlySet<string>
  readonly aliases: ReadonlySet<string>
  readonly functions: ReadonlySet<string>
  readonly formats: ReadonlySet<string>
  /** Names of the rulesets that can be extended. */
  readonly rulesets: ReadonlySet<string>
}

const RULES_MAX = 200
const LIST_MAX = 20
const TEXT_MAX = 2_000
const RULE_NAME = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,99}$/
const ALIAS_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/
/** `tags`, `type` and a few others are accepted without effect. */
const RULE_MEMBERS: ReadonlySet<string> = new Set(
  'description message documentationUrl severity given then resolved recommended formats tags type'.split(' '),
)
const THEN_MEMBERS: ReadonlySet<string> = new Set(['field', 'function', 'functionOptions'])
/** Excludes a leading $: Spectral would read a path in a language whose filters are programs. */
const FIELD = /^(?:@key|(?![$@])(?!.*(?:^|[.[])(?:__|constructor|prototype))[\w$.[\]:-]{1,200})$/
const EXTENT: ReadonlySet<unknown> = new Set(['all', 'recommended', 'off'])

export function vetRuleset(document: RulesetDocument, known: KnownNames): readonly ProblemPointer[] {
  return new RulesetVetting(document, known).run()
}

class RulesetVetting {
  readonly #document: RulesetDocument
  readonly #known: KnownNames
  /** Built-in aliases and those of the document that were read so far. */
  readonly #aliases: Set<string>
  readonly #faults: ProblemPointer[] = []

  constructor(document: RulesetDocument, known: KnownNames) {
    this.#document = document
    this.#known = known
    this.#aliases = new Set(known.aliases)
  }

  run(): readonly ProblemPointer[] {
    const rules = Object.entries(this.#document.rules)
    if (rules.length > RULES_MAX)
      return [{ pointer: '/rules', detail: `A ruleset must not have more than ${RULES_MAX} rules.` }]
    this.#vetExtends(this.#document.extends)
    this.#vetAliases(this.#document.aliases)
    this.#vetFormats(this.#document.formats, '/formats')
    for (const [name, rule] of rules) this.#vetRule(name, rule)
    return this.#faults
  }

  #fault(pointer: string, detail: string): void {
    this.#faults.push({ pointer, detail })
  }

  #vetExtends(given: unknown): void {
    if (given === undefined) return
    const entries = listOf(given)
    if (entries.length > LIST_MAX)
      return this.#fault('/extends', `A ruleset must not extend more than ${LIST_MAX} rulesets.`)
    entries.forEach((entry, index) => {
      const pointer = Array.isArray(given) ? `/extends/${index}` : '/extends'
      const [name, extent = 'recommended', ...more] = listOf(entry)
      const isKnown = typeof name === 'string' && this.#known.rulesets.has(name)
      if (!isKnown || !EXTENT.has(extent) || more.length > 0) {
        this.#fault(
          pointer,
          `Only ${[...this.#known.rulesets].join(', ')} can be extended; URLs and files are not fetched.`,
        )
      }
    })
  }

  #vetAliases(given: unknown): void {
    if (given === undefined) return
    if (!isObject(given))
      return this.#fault('/aliases', 'Aliases must be an object of names, each with a list of paths.')
    for (const [name, paths] of Object.entries(given)) {
      const pointer = `/aliases/${escapePointer(name)}`
      if (!ALIAS_NAME.test(name))
        this.#fault(pointer, 'The name of an alias must begin with a letter and contain only letters, digits, _ and -.')
      else if (!Array.isArray(paths)) this.#fault(pointer, 'An alias must be a list of paths.')
      else this.#vetPaths(paths, pointer)
      // An alias may use earlier aliases only, so there are no cycles.
      this.#aliases.add(name)
    }
  }

  #vetPaths(given: unknown, pointer: string): void {
    const paths = listOf(given)
    if (paths.length === 0 || paths.length > LIST_MAX)
      return this.#fault(pointer, `The list must have 1 to ${LIST_MAX} paths.`)
    paths.forEach((path, index) => {
      const detail =
        typeof path === 'string' ? checkPath(path, this.#aliases) : 'The value must be a path, such as $.info.'
      if (detail !== null) this.#fault(Array.isArray(given) ? `${pointer}/${index}` : pointer, detail)
    })
  }

  #vetFormats(formats: unknown, pointer: string): void {
    if (formats === undefined) return
    if (Array.isArray(formats) && formats.every((format) => this.#known.formats.has(String(format)))) return
    this.#fault(pointer, `Formats must be a list of ${[...this.#known.formats].join(', ')}.`)
  }

  #vetRule(name: string, rule: unknown): void {
    const pointer = `/rules/${escapePointer(name)}`
    if (!isDefinition(rule)) {
      if (!this.#known.rules.has(name))
        this.#fault(pointer, 'There is no rule of this name; a custom rule must have `given` and `then`.')
      else if (levelOf(rule) === undefined) this.#fault(pointer, 'The severity must be off, error, warn, info or hint.')
      return
    }
    if (this.#known.rules.has(name)) return this.#fault(pointer, 'A built-in rule has this name; choose another one.')
    // Spectral keeps rules in a plain object, so inherited members would count as rules.
    if (!RULE_NAME.test(name) || name in Object.prototype)
      return this.#fault(pointer, 'The name of a rule must contain only letters, digits, :, ., _ and -.')
    for (const key of Object.keys(rule)) {
      if (!RULE_MEMBERS.has(key)) this.#fault(`${pointer}/${escapePointer(key)}`, 'A rule has no member of this name.')
    }
    this.#vetTexts(rule, pointer)
    if (rule['severity'] !== undefined && levelOf(rule['severity']) === undefined)
      this.#fault(`${pointer}/severity`, 'The severity must be off, error, warn, info or hint.')
    if (rule['resolved'] !== undefined && typeof rule['resolved'] !== 'boolean')
      this.#fault(`${pointer}/resolved`, 'The value must be true or false.')
    this.#vetFormats(rule['formats'], `${pointer}/formats`)
    this.#vetPaths(rule['given'], `${pointer}/given`)
    this.#vetThen(rule['then'], `${pointer}/then`)
  }

  #vetTexts(rule: Readonly<Record<string, unknown>>, pointer: string): void {
    for (const key of ['description', 'message', 'documentationUrl']) {
      const text = rule[key]
      if (text === undefined) continue
      if (typeof text !== 'string' || text.length > TEXT_MAX)
        this.#fault(`${pointer}/${key}`, `The text must not exceed ${TEXT_MAX} characters.`)
      // Spectral evaluates the text between the braces.
      else if (text.includes('#{{'))
        this.#fault(
          `${pointer}/${key}`,
          'Expressions (#{{…}}) are not supported; placeholders such as {{property}} are.',
        )
    }
  }

  #vetThen(given: unknown, pointer: string): void {
    const list = listOf(given)
    if (list.length === 0 || list.length > LIST_MAX)
      return this.#fault(pointer, `The list must have 1 to ${LIST_MAX} functions.`)
    list.forEach((one, index) => {
      this.#vetFunction(one, Array.isArray(given) ? `${pointer}/${index}` : pointer)
    })
  }

  #vetFunction(one: unknown, at: string): void {
    if (!isObject(one))
      return this.#fault(at, 'The value must be a function, such as {"field": "x-owner", "function": "truthy"}.')
    for (const key of Object.keys(one)) {
      if (!THEN_MEMBERS.has(key)) this.#fault(`${at}/${escapePointer(key)}`, 'A function has no member of this name.')
    }
    const { field, function: called, functionOptions } = one
    if (field !== undefined && (typeof field !== 'string' || !FIELD.test(field)))
      this.#fault(`${at}/field`, 'The field must be the name of a member, or @key.')
    if (typeof called !== 'string' || !this.#known.functions.has(called))
      this.#fault(`${at}/function`, `The function must be one of ${[...this.#known.functions].join(', ')}.`)
    else if (called === 'pattern') this.#vetPatterns(functionOptions, `${at}/functionOptions`)
    // Spectral inserts options into messages.
    if (JSON.stringify(functionOptions ?? null).includes('#{{'))
      this.#fault(`${at}/functionOptions`, 'Expressions (#{{…}}) are not supported.')
  }

  #vetPatterns(options: unknown, pointer: string): void {
    if (!isObject(options)) return this.#fault(pointer, 'The options must have `match`, `notMatch`, or both.')
    for (const [key, pattern] of Object.entries(options)) {
      if (typeof pattern === 'string' && compileLinear(pattern) !== null) continue
      this.#fault(
        `${pointer}/${escapePointer(key)}`,
        'The pattern must not use look-around, back-references or slashes.',
      )
    }
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}
