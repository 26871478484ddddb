/**
 * Checks a tenant's ruleset: all names are known, and custom rules are data, not programs.
 *
 * Rejects custom functions, paths with function calls, messages with expressions, and files or URLs to fetch, each with its
 * pointer.
 */

import type { ProblemPointer } from '../../domain/problem.ts'
import { escapePointer } from '../../json/references.ts'
import { compileLinear } from '../../json/linear-pattern.ts'
import { faultOfPath } from './given-path.ts'
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
  const faults: ProblemPointer[] = []
  const fault = (pointer: string, detail: string): void => void faults.push({ pointer, detail })
  const aliases = new Set(known.aliases)

  const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

  function vetExtends(): void {
    if (document.extends === undefined) return
    const entries = listOf(document.extends)
    if (entries.length > LIST_MAX) return fault('/extends', `A ruleset must not extend more than ${LIST_MAX} rulesets.`)
    entries.forEach((entry, index) => {
      const pointer = Array.isArray(document.extends) ? `/extends/${index}` : '/extends'
      const [name, extent = 'recommended', ...more] = listOf(entry)
      const isKnown = typeof name === 'string' && known.rulesets.has(name)
      if (!isKnown || !EXTENT.has(extent) || more.length > 0) {
        fault(pointer, `Only ${[...known.rulesets].join(', ')} can be extended; URLs and files are not fetched.`)
      }
    })
  }

  function vetAliases(): void {
    if (document.aliases === undefined) return
    if (!isObject(document.aliases))
      return fault('/aliases', 'Aliases must be an object of names, each with a list of paths.')
    for (const [name, paths] of Object.entries(document.aliases)) {
      const pointer = `/aliases/${escapePointer(name)}`
      if (!ALIAS_NAME.test(name))
        fault(pointer, 'The name of an alias must begin with a letter and contain only letters, digits, _ and -.')
      else if (!Array.isArray(paths)) fault(pointer, 'An alias must be a list of paths.')
      else vetPaths(paths, pointer)
      // An alias may use earlier aliases only, so there are no cycles.
      aliases.add(name)
    }
  }

  function vetPaths(given: unknown, pointer: string): void {
    const paths = listOf(given)
    if (paths.length === 0 || paths.length > LIST_MAX)
      return fault(pointer, `The list must have 1 to ${LIST_MAX} paths.`)
    paths.forEach((path, index) => {
      const detail = typeof path === 'string' ? faultOfPath(path, aliases) : 'The value must be a path, such as $.info.'
      if (detail !== null) fault(Array.isArray(given) ? `${pointer}/${index}` : pointer, detail)
    })
  }

  function vetFormats(formats: unknown, pointer: string): void {
    if (formats === undefined) return
    if (Array.isArray(formats) && formats.every((format) => known.formats.has(String(format)))) return
    fault(pointer, `Formats must be a list of ${[...known.formats].join(', ')}.`)
  }

  function vetRule(name: string, rule: unknown): void {
    const pointer = `/rules/${escapePointer(name)}`
    if (!isDefinition(rule)) {
      if (!known.rules.has(name))
        fault(pointer, 'There is no rule of this name; a custom rule must have `given` and `then`.')
      else if (levelOf(rule) === undefined) fault(pointer, 'The severity must be off, error, warn, info or hint.')
      return
    }
    if (known.rules.has(name)) return fault(pointer, 'A built-in rule has this name; choose another one.')
    // Spectral keeps rules in a plain object, so inherited members would count as rules.
    if (!RULE_NAME.test(name) || name in Object.prototype)
      return fault(pointer, 'The name of a rule must contain only letters, digits, :, ., _ and -.')
    for (const key of Object.keys(rule)) {
      if (!RULE_MEMBERS.has(key)) fault(`${pointer}/${escapePointer(key)}`, 'A rule has no member of this name.')
    }
    for (const key of ['description', 'message', 'documentationUrl']) {
      const text = rule[key]
      if (text === undefined) continue
      if (typeof text !== 'string' || text.length > TEXT_MAX)
        fault(`${pointer}/${key}`, `The text must not exceed ${TEXT_MAX} characters.`)
      // Spectral evaluates the text between the braces.
      else if (text.includes('#{{'))
        fault(`${pointer}/${key}`, 'Expressions (#{{…}}) are not supported; placeholders such as {{property}} are.')
    }
    if (rule['severity'] !== undefined && levelOf(rule['severity']) === undefined)
      fault(`${pointer}/severity`, 'The severity must be off, error, warn, info or hint.')
    if (rule['resolved'] !== undefined && typeof rule['resolved'] !== 'boolean')
      fault(`${pointer}/resolved`, 'The value must be true or false.')
    vetFormats(rule['formats'], `${pointer}/formats`)
    vetPaths(rule['given'], `${pointer}/given`)
    vetThen(rule['then'], `${pointer}/then`)
  }

  function vetThen(given: unknown, pointer: string): void {
    const list = listOf(given)
    if (list.length === 0 || list.length > LIST_MAX)
      return fault(pointer, `The list must have 1 to ${LIST_MAX} functions.`)
    list.forEach((one, index) => {
      const at = Array.isArray(given) ? `${pointer}/${index}` : pointer
      if (!isObject(one))
        return fault(at, 'The value must be a function, such as {"field": "x-owner", "function": "truthy"}.')
      for (const key of Object.keys(one)) {
        if (!THEN_MEMBERS.has(key)) fault(`${at}/${escapePointer(key)}`, 'A function has no member of this name.')
      }
      const { field, function: called, functionOptions } = one
      if (field !== undefined && (typeof field !== 'string' || !FIELD.test(field)))
        fault(`${at}/field`, 'The field must be the name of a member, or @key.')
      if (typeof called !== 'string' || !known.functions.has(called))
        fault(`${at}/function`, `The function must be one of ${[...known.functions].join(', ')}.`)
      else if (called === 'pattern') vetPatterns(functionOptions, `${at}/functionOptions`)
      // Spectral inserts options into messages.
      if (JSON.stringify(functionOptions ?? null).includes('#{{'))
        fault(`${at}/functionOptions`, 'Expressions (#{{…}}) are not supported.')
    })
  }

  function vetPatterns(options: unknown, pointer: string): void {
    if (!isObject(options)) return fault(pointer, 'The options must have `match`, `notMatch`, or both.')
    for (const [key, pattern] of Object.entries(options)) {
      if (typeof pattern === 'string' && compileLinear(pattern) !== null) continue
      fault(`${pointer}/${escapePointer(key)}`, 'The pattern must not use look-around, back-references or slashes.')
    }
  }

  if (Object.keys(document.rules).length > RULES_MAX)
    return [{ pointer: '/rules', detail: `A ruleset must not have more than ${RULES_MAX} rules.` }]
  vetExtends()
  vetAliases()
  vetFormats(document.formats, '/formats')
  for (const [name, rule] of Object.entries(document.rules)) vetRule(name, rule)
  return faults
}
