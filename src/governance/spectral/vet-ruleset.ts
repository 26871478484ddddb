/**
 * Whether a tenant's ruleset may be used: known names and words, and rules of one's own that are data.
 *
 * What would make them programs is refused by its place: functions of one's own, paths that call,
 * messages that calculate, files and addresses to be fetched.
 */

import type { ProblemPointer } from '../../domain/problem.ts'
import { escapePointer } from '../../json/references.ts'
import { compileLinear } from '../../json/linear-pattern.ts'
import { faultOfPath } from './given-path.ts'
import { isDefinition, isObject, levelOf, type RulesetDocument } from '../ruleset-document.ts'

export interface KnownNames {
  /** Of rules that there are. */
  readonly rules: ReadonlySet<string>
  readonly aliases: ReadonlySet<string>
  readonly functions: ReadonlySet<string>
  readonly formats: ReadonlySet<string>
  /** Of rulesets that can be extended. */
  readonly rulesets: ReadonlySet<string>
}

const RULES_MAX = 200
const LIST_MAX = 20
const TEXT_MAX = 2_000
const RULE_NAME = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,99}$/
const ALIAS_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/
/** `tags`, `type` and the like say nothing here. */
const RULE_MEMBERS: ReadonlySet<string> = new Set(
  'description message documentationUrl severity given then resolved recommended formats tags type'.split(' '),
)
const THEN_MEMBERS: ReadonlySet<string> = new Set(['field', 'function', 'functionOptions'])
/** One that begins with $ would be a path, in another language than `given`, whose filters are programs. */
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
    if (entries.length > LIST_MAX) return fault('/extends', `At most ${LIST_MAX} rulesets are taken.`)
    entries.forEach((entry, index) => {
      const pointer = Array.isArray(document.extends) ? `/extends/${index}` : '/extends'
      const [name, extent = 'recommended', ...more] = listOf(entry)
      const isKnown = typeof name === 'string' && known.rulesets.has(name)
      if (!isKnown || !EXTENT.has(extent) || more.length > 0) {
        fault(pointer, `Extend one of ${[...known.rulesets].join(', ')}; nothing is fetched.`)
      }
    })
  }

  function vetAliases(): void {
    if (document.aliases === undefined) return
    if (!isObject(document.aliases)) return fault('/aliases', 'Give an object of names, each with a list of paths.')
    for (const [name, paths] of Object.entries(document.aliases)) {
      const pointer = `/aliases/${escapePointer(name)}`
      if (!ALIAS_NAME.test(name)) fault(pointer, 'A name begins with a letter, and has letters, digits, _ and -.')
      else if (!Array.isArray(paths)) fault(pointer, 'Give a list of paths.')
      else vetPaths(paths, pointer)
      // An alias may be made of those before it alone: there are no circles.
      aliases.add(name)
    }
  }

  function vetPaths(given: unknown, pointer: string): void {
    const paths = listOf(given)
    if (paths.length === 0 || paths.length > LIST_MAX) return fault(pointer, `Give 1 to ${LIST_MAX} paths.`)
    paths.forEach((path, index) => {
      const detail = typeof path === 'string' ? faultOfPath(path, aliases) : 'Give a path, such as $.info.'
      if (detail !== null) fault(Array.isArray(given) ? `${pointer}/${index}` : pointer, detail)
    })
  }

  function vetFormats(formats: unknown, pointer: string): void {
    if (formats === undefined) return
    if (Array.isArray(formats) && formats.every((format) => known.formats.has(String(format)))) return
    fault(pointer, `Give some of ${[...known.formats].join(', ')}.`)
  }

  function vetRule(name: string, rule: unknown): void {
    const pointer = `/rules/${escapePointer(name)}`
    if (!isDefinition(rule)) {
      if (!known.rules.has(name)) fault(pointer, 'There is no such rule; one of your own has `given` and `then`.')
      else if (levelOf(rule) === undefined) fault(pointer, 'Give off, error, warn, info or hint.')
      return
    }
    if (known.rules.has(name)) return fault(pointer, 'There is such a rule already: name yours otherwise.')
    // Spectral keeps rules in a plain object: what every object has would be taken for a rule.
    if (!RULE_NAME.test(name) || name in Object.prototype)
      return fault(pointer, 'A name has letters, digits, and : . _ - between them.')
    for (const key of Object.keys(rule)) {
      if (!RULE_MEMBERS.has(key)) fault(`${pointer}/${escapePointer(key)}`, 'A rule has no such member.')
    }
    for (const key of ['description', 'message', 'documentationUrl']) {
      const text = rule[key]
      if (text === undefined) continue
      if (typeof text !== 'string' || text.length > TEXT_MAX)
        fault(`${pointer}/${key}`, `Give at most ${TEXT_MAX} characters.`)
      // Spectral evaluates what stands between them.
      else if (text.includes('#{{')) fault(`${pointer}/${key}`, 'Expressions (#{{…}}) are not taken; {{property}} is.')
    }
    if (rule['severity'] !== undefined && levelOf(rule['severity']) === undefined)
      fault(`${pointer}/severity`, 'Give off, error, warn, info or hint.')
    if (rule['resolved'] !== undefined && typeof rule['resolved'] !== 'boolean')
      fault(`${pointer}/resolved`, 'Give true or false.')
    vetFormats(rule['formats'], `${pointer}/formats`)
    vetPaths(rule['given'], `${pointer}/given`)
    vetThen(rule['then'], `${pointer}/then`)
  }

  function vetThen(given: unknown, pointer: string): void {
    const list = listOf(given)
    if (list.length === 0 || list.length > LIST_MAX) return fault(pointer, `Give 1 to ${LIST_MAX} functions.`)
    list.forEach((one, index) => {
      const at = Array.isArray(given) ? `${pointer}/${index}` : pointer
      if (!isObject(one)) return fault(at, 'Give a function, such as {"field": "x-owner", "function": "truthy"}.')
      for (const key of Object.keys(one)) {
        if (!THEN_MEMBERS.has(key)) fault(`${at}/${escapePointer(key)}`, 'There is no such member here.')
      }
      const { field, function: called, functionOptions } = one
      if (field !== undefined && (typeof field !== 'string' || !FIELD.test(field)))
        fault(`${at}/field`, 'Give the name of a member, or @key.')
      if (typeof called !== 'string' || !known.functions.has(called))
        fault(`${at}/function`, `Give one of ${[...known.functions].join(', ')}.`)
      else if (called === 'pattern') vetPatterns(functionOptions, `${at}/functionOptions`)
      // What stands in options gets into messages.
      if (JSON.stringify(functionOptions ?? null).includes('#{{'))
        fault(`${at}/functionOptions`, 'Expressions (#{{…}}) are not taken.')
    })
  }

  function vetPatterns(options: unknown, pointer: string): void {
    if (!isObject(options)) return fault(pointer, 'Give `match`, `notMatch`, or both.')
    for (const [key, pattern] of Object.entries(options)) {
      if (typeof pattern === 'string' && compileLinear(pattern) !== null) continue
      fault(`${pointer}/${escapePointer(key)}`, 'Give a pattern without look-around, back-references and slashes.')
    }
  }

  if (Object.keys(document.rules).length > RULES_MAX) return [{ pointer: '/rules', detail: `At most ${RULES_MAX}.` }]
  vetExtends()
  vetAliases()
  vetFormats(document.formats, '/formats')
  for (const [name, rule] of Object.entries(document.rules)) vetRule(name, rule)
  return faults
}
