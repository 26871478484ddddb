/**
 * Compiles the `limits` of a declaration: the counters, and for each operation and property the definitions that may apply, in the
 * order of their precedence (OpenSLA 1.0.0, "limits").
 */

import type { LimitKind, LimitRule } from '../../foundation/domain/limit-rule.ts'
import type { LimitPlan, Validity } from '../../boundary/plan/sla-plan.ts'
import { CONCURRENT_DECLARATION } from './concurrent-declaration.ts'
import type { Definition, LimitDeclaration } from './limit-declaration.ts'
import { warnAboutShadowedLimits } from './limit-warnings.ts'
import { RATE_DECLARATION } from './rate-declaration.ts'
import { fieldsAt, listAt, operationsAt, textAt, type Faults, type Fields } from './reader.ts'
import { TOTAL_DECLARATION } from './total-declaration.ts'
import { readValidity } from './validity.ts'

export interface LimitPlans {
  readonly limits: readonly LimitPlan[]
  readonly byOperation: Readonly<Record<string, readonly (readonly number[])[]>>
}

/** All counters of a plan must fit into one block. */
const DEFINITIONS_MAX = 200
const BY_KIND: { readonly [K in LimitKind]: LimitDeclaration<K> } = {
  total: TOTAL_DECLARATION,
  rate: RATE_DECLARATION,
  concurrent: CONCURRENT_DECLARATION,
}
const DECLARATIONS = Object.values(BY_KIND)
/** Members of a definition. */
export const MEMBERS = ['name', 'operationIds', 'validity', ...DECLARATIONS.map(({ member }) => member)]

export function compileLimits(value: unknown, operationIds: ReadonlySet<string>, faults: Faults): LimitPlans {
  const limits: LimitPlan[] = []
  const names = new Set<string>()
  const definitions = listAt(value, '/limits', faults, DEFINITIONS_MAX).flatMap((item, index) => {
    const pointer = `/limits/${index}`
    const fields = fieldsAt(item, pointer, faults)
    if (fields === null) return []
    const given =
      fields['name'] === undefined ? `limit ${index + 1}` : textAt(fields['name'], `${pointer}/name`, faults)
    if (given === null) return []
    const name = freeName(given, names)
    if (name !== given)
      faults.warn(`${pointer}/name`, `An earlier definition has the same name: this one is called "${name}".`)
    names.add(name)
    return [readDefinition(fields, name, pointer, operationIds, limits, faults)]
  })
  const byOperation = resolve(definitions, operationIds)
  warnAboutShadowedLimits(definitions, limits, byOperation, faults)
  for (const definition of definitions) {
    for (const { warn } of DECLARATIONS) warn(definition, limits, faults)
  }
  return { limits, byOperation }
}

/** Definitions count apart, each by its name. */
function freeName(given: string, taken: ReadonlySet<string>): string {
  let name = given
  for (let number = 2; taken.has(name); number++) name = `${given} (${number})`
  return name
}

function readDefinition(
  fields: Fields,
  name: string,
  pointer: string,
  known: ReadonlySet<string>,
  limits: LimitPlan[],
  faults: Faults,
): Definition {
  faults.warnOfOthers(fields, MEMBERS, pointer)
  const validity = readValidity(fields['validity'], `${pointer}/validity`, faults)
  const listed = operationsAt(fields['operationIds'], `${pointer}/operationIds`, known, faults)
  const operationIds = listed === null ? null : [...new Set(listed)].sort()
  const properties = new Map<string, number>()
  for (const [property, rule] of readRules(fields, pointer, validity, faults)) {
    properties.set(property, limits.length)
    const meaning = JSON.stringify([property, operationIds, validity])
    limits.push({ name, key: `${name}/${property}`, meaning, rule, validity })
  }
  return { pointer, operationIds: operationIds === null ? null : new Set(operationIds), properties }
}

/** Reads the rules of a definition in the order of the kinds, which determines the order of their counters. */
function readRules(
  fields: Fields,
  pointer: string,
  validity: readonly Validity[],
  faults: Faults,
): readonly (readonly [string, LimitRule])[] {
  return DECLARATIONS.flatMap(({ member, read }): readonly (readonly [string, LimitRule])[] =>
    read(fields[member], `${pointer}/${member}`, validity, faults),
  )
}

function resolve(definitions: readonly Definition[], known: ReadonlySet<string>): LimitPlans['byOperation'] {
  const groupsOf = (matches: readonly Definition[]): readonly (readonly number[])[] => {
    const groups = new Map<string, number[]>()
    for (const { properties } of matches) {
      for (const [property, position] of properties) {
        const group = groups.get(property)
        if (group === undefined) groups.set(property, [position])
        else group.push(position)
      }
    }
    return [...groups.values()]
  }
  const forAll = definitions.filter(({ operationIds }) => operationIds === null)
  const listed = [...known].filter((id) => definitions.some(({ operationIds }) => operationIds?.has(id)))
  return Object.fromEntries([
    ...listed.map((id) => {
      const matches = definitions.filter(({ operationIds }) => operationIds === null || operationIds.has(id))
      return [id, groupsOf(matches)] as const
    }),
    ['*', groupsOf(forAll)] as const,
  ])
}
