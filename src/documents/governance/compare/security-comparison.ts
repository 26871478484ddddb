/**
 * Who could call an operation before must be able to call it after.
 *
 * The alternatives are compared as the gateway enforces them: names of schemes do not matter, and an alternative with an unsupported
 * or without any scheme left grants no access. Scopes that an added alternative makes keys need are a warning only, because an
 * alternative beside the existing ones is compatible by agreement.
 */

import { toCanonicalText } from '../../../foundation/json/canonical-value.ts'
import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import type { SecurityAlternative } from '../../../boundary/plan/route-plan.ts'
import type { DeclaredOperation } from '../operations.ts'
import { compileSecurity } from '../serving/compile-security.ts'
import { findScheme } from '../security-schemes.ts'
import type { Sides } from './sides.ts'

interface Access {
  readonly isDeclared: boolean
  /** Whether a call without a credential is accepted. */
  readonly isOpen: boolean
  /** Alternatives that grant access to a credential. */
  readonly alternatives: readonly SecurityAlternative[]
  /** The requirements as declared, by the kinds of their schemes. */
  readonly declared: readonly string[]
  readonly pointer: string
}

/** Stands for the name of the API in the default scopes, which are equal in both versions. */
const UNNAMED = 'unnamed-v0'

/** A requirement that is removed or replaced is breaking; an alternative beside the existing ones is not. */
export function compareSecurity(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const lists = [listOf(securityOf(sides.previous, before)), listOf(securityOf(sides.next, after))]
  sides.budget.spend(lists[0]!.length * lists[1]!.length)
  if (sides.budget.isSpent) return sides.requests.giveUp(sides.operation)
  const [was, is] = [accessOf(sides.previous, before), accessOf(sides.next, after)]
  // The gateway protects an operation that declares nothing.
  if (!was.isDeclared && !is.isDeclared) return
  sides.budget.spend(was.alternatives.length * sizeOf(is) + is.alternatives.length * sizeOf(was))
  if (sides.budget.isSpent) return sides.requests.giveUp(sides.operation)
  const at = { pointer: is.pointer, previousPointer: was.pointer }
  const lost = lostOf(was, is)
  if (is.isOpen) {
    if (was.isOpen) return
    const isBeside = lost.length === 0 && is.declared.length > 0
    return sides.report(isBeside ? 'security.optional' : 'security.removed', at)
  }
  if (was.isOpen) return sides.report('security.narrowed', { ...at, detail: 'calls without a credential' })
  for (const detail of lost) sides.report('security.narrowed', { ...at, detail })
  if (lost.length > 0) return
  const keys = was.alternatives.filter(
    (one) => one.apiKey && !is.alternatives.some((other) => serves(other, one, true)),
  )
  if (keys.length > 0) sides.report('security.key.scopes', at)
}

/** Describes the alternatives of which none is enough any more. */
function lostOf(was: Access, is: Access): readonly string[] {
  // An operation that could not be served is compared as declared.
  if (was.alternatives.length === 0) {
    return was.declared.every((each) => is.declared.includes(each)) ? [] : ['the declared schemes']
  }
  const lost = was.alternatives.filter((one) => !is.alternatives.some((other) => serves(other, one, false)))
  return [...new Set(lost.map(describe))]
}

/** Whether a caller with the credentials of one alternative is accepted by another one. */
function serves(after: SecurityAlternative, before: SecurityAlternative, needsKeyScopes: boolean): boolean {
  const { tokenScopes, apiKey, keyScopes } = after
  const isTokenEnough =
    tokenScopes === null || (before.tokenScopes !== null && isWithin(tokenScopes, before.tokenScopes))
  return isTokenEnough && (!apiKey || before.apiKey) && (!needsKeyScopes || isWithin(keyScopes, before.keyScopes))
}

function describe({ tokenScopes, apiKey }: SecurityAlternative): string {
  const scopes = tokenScopes === null || tokenScopes.length === 0 ? '' : ` with ${tokenScopes.join(', ')}`
  const parts = [...(tokenScopes === null ? [] : [`a token${scopes}`]), ...(apiKey ? ['an API key'] : [])]
  return parts.join(' and ')
}

function securityOf(document: Fields, { fields }: DeclaredOperation): unknown {
  return Array.isArray(fields['security']) ? fields['security'] : document['security']
}

function accessOf(document: Fields, operation: DeclaredOperation): Access {
  const isOwn = Array.isArray(operation.fields['security'])
  const security = securityOf(document, operation)
  const isDeclared = Array.isArray(security)
  const requirements = listOf(security).map(fieldsOf)
  const required = requirements.filter((requirement) => Object.keys(requirement).length > 0)
  const faults: ProblemPointer[] = []
  const fields = isDeclared ? { security: required } : {}
  const alternatives = compileSecurity({ ...operation, fields }, { document, technicalName: UNNAMED }, faults)
  return {
    isDeclared,
    isOpen: isDeclared && (requirements.length === 0 || required.length < requirements.length),
    alternatives,
    declared: required.map((requirement) => toDeclared(document, requirement)),
    pointer: isOwn ? `${operation.pointer}/security` : isDeclared ? '/security' : operation.pointer,
  }
}

function toDeclared(document: Fields, requirement: Fields): string {
  const schemes = Object.entries(requirement).map(([name, scopes]) => {
    const { kind = 'unknown', description = name } = findScheme(document, name) ?? {}
    return [kind === 'unsupported' ? description : kind, scopes]
  })
  return schemes.map(toCanonicalText).sort().join()
}

function sizeOf({ alternatives }: Access): number {
  return alternatives.reduce((size, each) => size + 1 + (each.tokenScopes?.length ?? 0) + each.keyScopes.length, 0)
}

function isWithin(inner: readonly string[], outer: readonly string[]): boolean {
  return new Set(inner).isSubsetOf(new Set(outer))
}
