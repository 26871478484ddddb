/** The text of a parameter by its style, the reverse of `validation/parameters.ts`. Throws `TypeError` for what has none. */

import type { ParameterPlan } from '../plan/route-plan.ts'

/** More items, or a longer text, do not fit into a request target or a header. */
const ITEMS_MAX = 8_192
const TEXT_LENGTH_MAX = 16_384
const SEPARATORS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: ' ', pipeDelimited: '|' }

/** Returns the text of a parameter in a path, a header or a cookie. */
export function toText({ isJson, explode }: ParameterPlan, value: unknown): string {
  if (isJson === true) return JSON.stringify(value)
  if (Array.isArray(value)) return itemsOf(value).map(scalar).join(',')
  if (typeof value !== 'object' || JSON.isRawJSON(value)) return scalar(value)
  const between = explode ? '=' : ','
  return membersOf(value)
    .map(([name, member]) => `${name}${between}${scalar(member)}`)
    .join(',')
}

/** Returns the names and texts of a parameter in a query. */
export function toPairs(
  { name, style, explode, isJson }: ParameterPlan,
  value: unknown,
): (readonly [string, string])[] {
  if (isJson === true) return [[name, JSON.stringify(value)]]
  if (Array.isArray(value)) {
    const items = itemsOf(value).map(scalar)
    return explode ? items.map((item) => [name, item]) : [[name, items.join(SEPARATORS[style] ?? ',')]]
  }
  if (typeof value !== 'object' || JSON.isRawJSON(value)) return [[name, scalar(value)]]
  const members = membersOf(value)
  if (style === 'deepObject') {
    return members.flatMap(([member, inner]) => {
      const items = Array.isArray(inner) ? itemsOf(inner) : [inner]
      return items.map((item) => [`${name}[${member}]`, scalar(item)] as const)
    })
  }
  if (!explode) return [[name, members.map(([member, inner]) => `${member},${scalar(inner)}`).join(',')]]
  return members.flatMap(([member, inner]) => {
    const items = Array.isArray(inner) ? itemsOf(inner) : [inner]
    return items.map((item) => [member, scalar(item)] as const)
  })
}

function membersOf(value: object | null): [string, unknown][] {
  return Object.entries(value ?? {})
}

function itemsOf(value: readonly unknown[]): readonly unknown[] {
  if (value.length > ITEMS_MAX) throw new TypeError('the list is too long')
  return value
}

function scalar(value: unknown): string {
  if (typeof value === 'string' && value.length <= TEXT_LENGTH_MAX) return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (JSON.isRawJSON(value)) return value.rawJSON
  throw new TypeError('a parameter consists of short strings, numbers and booleans')
}
