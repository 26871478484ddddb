/** Who could call an operation before must be able to call it after: schemes and scopes may only become fewer. */

import { fieldsOf, type Fields } from '../../json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import type { Report } from './change.ts'

interface Alternative {
  /** Kinds of schemes; their names do not matter. */
  readonly schemes: ReadonlySet<string>
  readonly scopes: ReadonlySet<string>
}

interface Sides {
  readonly previous: Fields
  readonly next: Fields
  readonly report: Report
}

export function compareSecurity(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const [one, other] = [alternativesOf(sides.previous, before), alternativesOf(sides.next, after)]
  // Where nothing is declared the gateway protects by default; that both do is the same.
  if (one === null && other === null) return
  const isOpen = one === null ? other === 'public' : other === 'public' || isCovered(one, other)
  if (!isOpen) sides.report('security.narrowed', `${after.pointer}/security`)
}

/** Whether each of the alternatives before is enough for one after. */
function isCovered(before: readonly Alternative[] | 'public', after: readonly Alternative[] | null): boolean {
  if (before === 'public' || after === null) return false
  return before.every((one) =>
    after.some((other) => isWithin(other.schemes, one.schemes) && isWithin(other.scopes, one.scopes)),
  )
}

/** Null: nothing is declared. */
function alternativesOf(document: Fields, { fields }: DeclaredOperation): readonly Alternative[] | 'public' | null {
  const security = Array.isArray(fields['security']) ? fields['security'] : document['security']
  if (!Array.isArray(security)) return null
  const requirements = security.map(fieldsOf)
  if (requirements.length === 0 || requirements.some((each) => Object.keys(each).length === 0)) return 'public'
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
