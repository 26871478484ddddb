/** Who could call an operation before must be able to call it after: schemes and scopes may only become fewer. */

import { fieldsOf, listOf, type Fields } from '../../json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import type { Sides } from './sides.ts'

interface Alternative {
  /** Kinds of schemes; their names do not matter. */
  readonly schemes: ReadonlySet<string>
  readonly scopes: ReadonlySet<string>
}

/** A requirement that is removed or replaced is reported; an alternative beside the existing ones is not. */
export function compareSecurity(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const lists = [listOf(securityOf(sides.previous, before)), listOf(securityOf(sides.next, after))]
  sides.budget.spend(lists[0]!.length * lists[1]!.length)
  if (sides.budget.isSpent) return sides.requests.giveUp(sides.operation)
  const [one, other] = [alternativesOf(sides.previous, before), alternativesOf(sides.next, after)]
  const at = { pointer: `${after.pointer}/security`, previousPointer: `${before.pointer}/security` }
  // The gateway protects an operation that declares nothing.
  if (one === null && other === null) return
  if (other !== null && other.length === 0 && one !== null && one.some(isProtected)) {
    sides.report('security.removed', at)
  } else if (one === null ? !isOpen(other) : !isOpen(other) && !isCovered(one, other)) {
    sides.report('security.narrowed', at)
  }
}

/** Whether a call without credentials is accepted. */
function isOpen(alternatives: readonly Alternative[] | null): boolean {
  return alternatives !== null && (alternatives.length === 0 || !alternatives.every(isProtected))
}

function isProtected({ schemes }: Alternative): boolean {
  return schemes.size > 0
}

/** Whether each of the alternatives before is enough for one after. */
function isCovered(before: readonly Alternative[], after: readonly Alternative[] | null): boolean {
  if (isOpen(before) || after === null) return false
  return before.every((one) =>
    after.some((other) => isWithin(other.schemes, one.schemes) && isWithin(other.scopes, one.scopes)),
  )
}

function securityOf(document: Fields, { fields }: DeclaredOperation): unknown {
  return Array.isArray(fields['security']) ? fields['security'] : document['security']
}

/** Null: nothing is declared. */
function alternativesOf(document: Fields, operation: DeclaredOperation): readonly Alternative[] | null {
  const security = securityOf(document, operation)
  if (!Array.isArray(security)) return null
  const requirements = security.map(fieldsOf)
  const schemes = fieldsOf(fieldsOf(document['components'])['securitySchemes'])
  return requirements.map((requirement) => ({
    schemes: new Set(Object.keys(requirement).map((name) => kindOf(fieldsOf(schemes[name])))),
    scopes: new Set(Object.values(requirement).flatMap((scopes) => (Array.isArray(scopes) ? scopes.map(String) : []))),
  }))
}

/** Tokens are tokens, by whatever scheme they are declared. */
function kindOf({ type, scheme }: Fields): string {
  const isToken = type === 'oauth2' || type === 'openIdConnect' || String(scheme).toLowerCase() === 'bearer'
  return isToken ? 'token' : `${String(type)} ${String(scheme ?? '')}`
}

function isWithin(inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean {
  return [...inner].every((each) => outer.has(each))
}
