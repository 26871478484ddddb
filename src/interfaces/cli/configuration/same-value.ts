/** Compares a field of a file with that of the service. */

import { isDeepStrictEqual } from 'node:util'
import { withoutBackendSecrets } from './backend-secrets.ts'
import { isFields, isNothing, SECRET_FIELDS, type Fields } from './resource.ts'

/** Objects of which a file may leave out members; these stay as they are. */
const PARTIAL: ReadonlySet<string> = new Set([
  'api policy',
  'api backend',
  'policy approval',
  'identityprovider signIn',
])
/** Its members without a value change nothing, so that the service may leave them out. */
const WITH_EMPTY_MEMBERS = 'api transform'
/** Its lists have an order: a ruleset that is extended later overrides the earlier ones. */
const ORDERED_KIND = 'ruleset'
/** Instants, which may be written in several ways. */
const INSTANT_FIELD = 'expiresAt'

export function isSameValue(kind: string, field: string, before: unknown, after: unknown): boolean {
  if (isNothing(after) && isNothing(before)) return true
  if (field === INSTANT_FIELD && typeof before === 'string' && typeof after === 'string') {
    return Date.parse(before) === Date.parse(after)
  }
  if (`${kind} ${field}` === WITH_EMPTY_MEMBERS) return isSame(kind, withoutEmpty(before), withoutEmpty(after))
  if (!PARTIAL.has(`${kind} ${field}`) || !isFields(after)) return isSame(kind, before, after)
  const toCompared = field === 'backend' ? withoutBackendSecrets : (value: Fields): Fields => value
  const members = isFields(before) ? toCompared(before) : {}
  return Object.entries(toCompared(after)).every(([name, each]) => {
    // A secret is never returned, so it cannot differ.
    if (SECRET_FIELDS.has(name) || (isNothing(each) && isNothing(members[name]))) return true
    return isSame(kind, members[name], each)
  })
}

/** Leaves out members without a value at any depth, except within lists. */
function withoutEmpty(value: unknown): unknown {
  if (!isFields(value)) return value ?? {}
  const members = Object.entries(value).map(
    ([name, each]) => [name, isFields(each) ? withoutEmpty(each) : each] as const,
  )
  return Object.fromEntries(members.filter(([, each]) => !isNothing(each)))
}

function isSame(kind: string, before: unknown, after: unknown): boolean {
  return kind === ORDERED_KIND
    ? isDeepStrictEqual(before, after)
    : isDeepStrictEqual(withoutOrder(before), withoutOrder(after))
}

/** Other lists are sets. */
function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOrder).toSorted(byText)
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, withoutOrder(each)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}

function byText(one: unknown, other: unknown): number {
  const [first, second] = [JSON.stringify(one), JSON.stringify(other)]
  if (first === second) return 0
  return first < second ? -1 : 1
}
