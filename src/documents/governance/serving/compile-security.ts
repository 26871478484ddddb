/**
 * Compiles `security` of an operation, else that of the document, into alternatives that grant access.
 *
 * - `oauth2`, `openIdConnect` and HTTP `bearer` require a token with the scopes of the alternative.
 * - `apiKey` requires a key whose subscription has the scopes that the operation requires of tokens.
 * - All schemes of one alternative are required together.
 * - `security: []` is public, and so is `{}` among the alternatives.
 * - An alternative that this gateway cannot verify (HTTP `basic`, mutual TLS) grants no access. It is a fault if there is no other.
 * - A scheme with `x-tollgate-security: ignore` is left out. An alternative with no other scheme grants no access.
 * - Without any `security`, tokens and keys need `<technical name>:read` for reading and
 *   `<technical name>:write` for everything else.
 */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import { areSchemesReadable, findScheme, SECURITY, type SecurityScheme } from '../security-schemes.ts'
import type { Specification } from '../specification.ts'
import type { SecurityAlternative } from '../../../boundary/plan/route-plan.ts'

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
  const requirements = security.map(fieldsOf)
  if (requirements.some((requirement) => Object.keys(requirement).length === 0)) return []
  const unsupported: ProblemPointer[] = []
  const read = requirements.map((requirement, index) =>
    readRequirement(document, requirement, { at: `${at}/${index}`, faults, unsupported }),
  )
  const usable = distinct(read.filter((alternative) => typeof alternative === 'object'))
  if (requirements.length > 0 && usable.length === 0) faults.push(...unsupported)
  if (requirements.length > 0 && read.every((alternative) => alternative === 'ignored')) {
    const detail =
      'All security schemes of the operation are ignored. Add a scheme that the gateway implements, or declare `security: []` if the operation is public.'
    faults.push({ pointer: at, detail })
  }
  return withKeyScopes(usable)
}

/** Tests whether an operation that writes needs no credential. Call it for a document without faults. */
export function isPublicWrite(operation: DeclaredOperation, specification: Specification): boolean {
  return !READS.has(operation.method) && compileSecurity(operation, specification).length === 0
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

interface RequirementPlace {
  readonly at: string
  readonly faults: ProblemPointer[]
  /** Faults if no other alternative grants access. */
  readonly unsupported: ProblemPointer[]
}

function readRequirement(
  document: Fields,
  requirement: Fields,
  { at, faults, unsupported }: RequirementPlace,
): SecurityAlternative | 'ignored' | 'unusable' {
  let tokenScopes: Set<string> | null = null
  let apiKey = false
  let isUsable = true
  for (const [name, scopes] of Object.entries(requirement)) {
    const scheme = findScheme(document, name)
    if (scheme === null) {
      if (areSchemesReadable(document)) faults.push(undeclared(at, name))
    } else if (scheme.kind === 'unsupported') unsupported.push(toFault(scheme, name))
    else if (scheme.kind === 'key') apiKey = true
    else if (scheme.kind === 'token')
      tokenScopes = new Set([...(tokenScopes ?? []), ...(Array.isArray(scopes) ? scopes.map(String) : [])])
    if (scheme === null || scheme.kind === 'unsupported') isUsable = false
  }
  if (!isUsable) return 'unusable'
  if (tokenScopes === null && !apiKey) return 'ignored'
  return { tokenScopes: tokenScopes === null ? null : [...tokenScopes], apiKey, keyScopes: [] }
}

function undeclared(at: string, name: string): ProblemPointer {
  const detail = 'The document does not declare a security scheme of this name.'
  return { pointer: `${at}/${escapePointer(name)}`, detail }
}

function toFault({ description }: SecurityScheme, name: string): ProblemPointer {
  const detail = `The gateway does not implement ${description}. Use OAuth 2.0 with client credentials or an API key, or add \`${SECURITY}: ignore\` to leave the scheme out.`
  return { pointer: `/components/securitySchemes/${escapePointer(name)}`, detail }
}

/** Every key is combined with every token alternative, so that duplicates would multiply. */
function distinct(alternatives: readonly SecurityAlternative[]): readonly SecurityAlternative[] {
  return [...new Map(alternatives.map((alternative) => [JSON.stringify(alternative), alternative])).values()]
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
