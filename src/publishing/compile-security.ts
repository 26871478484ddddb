/**
 * Which credential opens an operation: its own `security`, else the document's, as alternatives.
 *
 * `oauth2`, `openIdConnect` and http `bearer` take a token with the scopes of the alternative; `apiKey`
 * takes a key whose subscription holds the scopes that the operation asks of tokens. Schemes of one
 * alternative are needed together. `security: []` is public, and so is `{}` among the alternatives. An
 * alternative that this gateway cannot verify (http `basic`, mutual TLS) opens nothing. A document that
 * declares nothing is protected all the same: reading needs `<technical name>:read`, everything else
 * `<technical name>:write`, of tokens and keys.
 */

import type { ProblemPointer } from '../domain/problem.ts'
import { fieldsOf, type Fields } from '../json/fields.ts'
import type { DeclaredOperation } from '../governance/operations.ts'
import { escapePointer } from '../json/references.ts'
import type { Specification } from '../governance/specification.ts'
import type { SecurityAlternative } from '../plan/route-plan.ts'

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

/** The scopes of a document that declares no security at all. */
export function defaultScopes(technicalName: string): readonly string[] {
  return [`${technicalName}:read`, `${technicalName}:write`]
}

/** Whether the operations of a document fall back on the default scopes. */
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

/** Null where a scheme of the requirement cannot be verified here. */
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

/** A key opens what a token would: each alternative that asks scopes of a token asks them of a key's subscription. */
function withKeyScopes(alternatives: readonly SecurityAlternative[]): SecurityAlternative[] {
  const asked = alternatives.flatMap(({ tokenScopes }) => (tokenScopes === null ? [] : [tokenScopes]))
  return alternatives.flatMap((alternative) => {
    if (!alternative.apiKey) return [alternative]
    if (alternative.tokenScopes !== null) return [{ ...alternative, keyScopes: alternative.tokenScopes }]
    return asked.length === 0 ? [alternative] : asked.map((keyScopes) => ({ ...alternative, keyScopes }))
  })
}
