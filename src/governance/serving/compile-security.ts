/**
 * Compiles `security` of an operation, else that of the document, into alternatives that grant access.
 *
 * - `oauth2`, `openIdConnect` and HTTP `bearer` require a token with the scopes of the alternative.
 * - `apiKey` requires a key whose subscription has the scopes that the operation requires of tokens.
 * - All schemes of one alternative are required together.
 * - `security: []` is public, and so is `{}` among the alternatives.
 * - An alternative that this gateway cannot verify (HTTP `basic`, mutual TLS) grants no access.
 * - Without any `security`, tokens and keys need `<technical name>:read` for reading and
 *   `<technical name>:write` for everything else.
 */

import type { ProblemPointer } from '../../domain/problem.ts'
import { fieldsOf, type Fields } from '../../json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import { escapePointer } from '../../json/references.ts'
import type { Specification } from '../specification.ts'
import type { SecurityAlternative } from '../../plan/route-plan.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Appends faults to `faults`. */
export function compileSecurity(
  { fields, method, pointer }: Pick<DeclaredOperation, 'fields' | 'method' | 'pointer'>,
  { document, technicalName }: Pick<Specification, 'document' | 'technicalName'>,
  faults: ProblemPointer[] = [],
): readonly SecurityAlternative[] {
  const isOwn = Array.isArray(fields['security'])
  const security: unknown = isOwn ? fields['security'] : document['security']
  if (!Array.isArray(security)) return defaultSecurity(technicalName, method)
  const at = isOwn ? `${pointer}/security` : '/security'
  const schemes = fieldsOf(fieldsOf(document['components'])['securitySchemes'])
  const requirements = security.map(fieldsOf)
  if (requirements.some((requirement) => Object.keys(requirement).length === 0)) return []
  const read = requirements.map((requirement, index) => {
    for (const name of Object.keys(requirement)) {
      if (Object.hasOwn(schemes, name)) continue
      faults.push({
        pointer: `${at}/${index}/${escapePointer(name)}`,
        detail: 'The document does not declare a security scheme of this name.',
      })
    }
    return readRequirement(requirement, schemes)
  })
  const usable = read.filter((alternative) => alternative !== null)
  if (security.length > 0 && usable.length === 0) {
    const detail =
      'The gateway supports OAuth 2.0, OpenID Connect, HTTP bearer and API key schemes only; no alternative uses only these.'
    faults.push({ pointer: at, detail })
  }
  return withKeyScopes(usable)
}

/** Returns the scopes of a document without `security`. */
export function defaultScopes(technicalName: string): readonly string[] {
  return [`${technicalName}:read`, `${technicalName}:write`]
}

/** Tests whether any operation has neither its own `security` nor that of the document. */
export function usesDefaultScopes({ document, operations }: Pick<Specification, 'document' | 'operations'>): boolean {
  return !Array.isArray(document['security']) && operations.some(({ fields }) => !Array.isArray(fields['security']))
}

function defaultSecurity(technicalName: string, method: string): readonly SecurityAlternative[] {
  const [read = '', write = ''] = defaultScopes(technicalName)
  return withKeyScopes([
    { tokenScopes: [READS.has(method) ? read : write], apiKey: false, keyScopes: [] },
    { tokenScopes: null, apiKey: true, keyScopes: [] },
  ])
}

/** Returns null if the gateway cannot verify a scheme of the requirement. */
function readRequirement(requirement: Fields, schemes: Fields): SecurityAlternative | null {
  let tokenScopes: Set<string> | null = null
  let apiKey = false
  for (const [name, scopes] of Object.entries(requirement)) {
    const kind = kindOf(fieldsOf(Object.hasOwn(schemes, name) ? schemes[name] : null))
    if (kind === null) return null
    if (kind === 'key') apiKey = true
    else tokenScopes = new Set([...(tokenScopes ?? []), ...(Array.isArray(scopes) ? scopes.map(String) : [])])
  }
  return { tokenScopes: tokenScopes === null ? null : [...tokenScopes], apiKey, keyScopes: [] }
}

function kindOf({ type, scheme }: Fields): 'token' | 'key' | null {
  if (type === 'apiKey') return 'key'
  if (type === 'oauth2' || type === 'openIdConnect') return 'token'
  return type === 'http' && String(scheme).toLowerCase() === 'bearer' ? 'token' : null
}

/** Requires the scopes of the token alternatives from the subscription of a key, so that a key grants no more than a token. */
function withKeyScopes(alternatives: readonly SecurityAlternative[]): SecurityAlternative[] {
  const required = alternatives.flatMap(({ tokenScopes }) => (tokenScopes === null ? [] : [tokenScopes]))
  return alternatives.flatMap((alternative) => {
    if (!alternative.apiKey) return [alternative]
    if (alternative.tokenScopes !== null) return [{ ...alternative, keyScopes: alternative.tokenScopes }]
    return required.length === 0 ? [alternative] : required.map((keyScopes) => ({ ...alternative, keyScopes }))
  })
}
