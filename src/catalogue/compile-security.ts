/**
 * Which credential opens an operation: its own `security`, else the document's, as alternatives.
 *
 * `oauth2`, `openIdConnect` and http `bearer` take a token with the scopes of the alternative; `apiKey`
 * takes a key whose subscription holds the scopes that the operation asks of tokens. `security: []` is
 * public. A document that declares nothing is protected all the same: reading needs
 * `<technical name>:read`, everything else `<technical name>:write`, of tokens and keys.
 */

import { fieldsOf, type DeclaredOperation, type Specification } from '../governance/specification.ts'
import type { SecurityAlternative } from './route-plan.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function compileSecurity(
  { fields, method }: Pick<DeclaredOperation, 'fields' | 'method'>,
  { document, technicalName }: Pick<Specification, 'document' | 'technicalName'>,
): readonly SecurityAlternative[] {
  const security = fields['security'] ?? document['security']
  if (!Array.isArray(security)) return defaultSecurity(technicalName, method)
  const schemes = fieldsOf(fieldsOf(document['components'])['securitySchemes'])
  const alternatives = security.map((requirement) => readRequirement(fieldsOf(requirement), schemes))
  const asked = alternatives.find(({ tokenScopes }) => tokenScopes !== null)?.tokenScopes ?? []
  // `{}` among alternatives makes the credential optional, which is the same as public here.
  if (alternatives.some(({ tokenScopes, apiKey }) => tokenScopes === null && !apiKey)) return []
  return alternatives.map((alternative) => ({ ...alternative, keyScopes: alternative.apiKey ? asked : [] }))
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
  const scopes = [READS.has(method) ? read : write]
  return [
    { tokenScopes: scopes, apiKey: false, keyScopes: [] },
    { tokenScopes: null, apiKey: true, keyScopes: scopes },
  ]
}

/** All schemes of one requirement are needed together. */
function readRequirement(
  requirement: Readonly<Record<string, unknown>>,
  schemes: Readonly<Record<string, unknown>>,
): SecurityAlternative {
  let tokenScopes: string[] | null = null
  let apiKey = false
  for (const [name, scopes] of Object.entries(requirement)) {
    if (fieldsOf(schemes[name])['type'] === 'apiKey') apiKey = true
    else tokenScopes = [...(tokenScopes ?? []), ...(Array.isArray(scopes) ? scopes.map(String) : [])]
  }
  return { tokenScopes, apiKey, keyScopes: [] }
}
