/** Functions of rules on a whole document, which fail if an extension in `paths` is null. */

import type { IFunction, RuleDefinition, RulesetDefinition } from '@stoplight/spectral-core'
import { fieldsOf } from '../../../foundation/json/fields.ts'

/** Returns the ruleset with functions that see only the path items of a document that are objects. */
export function withTolerantFunctions(ruleset: RulesetDefinition): RulesetDefinition {
  if (!('rules' in ruleset)) return ruleset
  const rules = Object.entries(ruleset.rules).map(([id, rule]) => {
    const definition = rule as RuleDefinition
    if (definition.given !== '$') return [id, rule] as const
    const then = [definition.then].flat().map((each) => ({ ...each, function: tolerant(each.function as IFunction) }))
    return [id, { ...definition, then }] as const
  })
  return { ...ruleset, rules: Object.fromEntries(rules) } as RulesetDefinition
}

function tolerant(check: IFunction): IFunction {
  const wrapped: IFunction = (input, ...rest) => check(withPathItems(input), ...rest)
  // The validators of its options.
  return Object.assign(wrapped, check)
}

function withPathItems(input: unknown): unknown {
  const { paths } = fieldsOf(input)
  const entries = Object.entries(fieldsOf(paths))
  if (entries.every(([, item]) => item !== null)) return input
  return { ...fieldsOf(input), paths: Object.fromEntries(entries.filter(([, item]) => item !== null)) }
}
