/** The security schemes of a document, as the gateway implements them. */

import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { resolvePointer } from '../../foundation/json/references.ts'

export type SchemeKind =
  | 'token'
  | 'key'
  /** Left out by the author. */
  | 'ignored'
  /** The gateway cannot verify it. */
  | 'unsupported'

export interface SecurityScheme {
  readonly kind: SchemeKind
  /** For an author. */
  readonly description: string
}

export const SECURITY = 'x-tollgate-security'
const REFERENCES_MAX = 16

/** Returns null if the document does not declare the scheme. */
export function findScheme(document: Fields, name: string): SecurityScheme | null {
  const schemes = fieldsOf(fieldsOf(document['components'])['securitySchemes'])
  if (!Object.hasOwn(schemes, name)) return null
  let fields = fieldsOf(schemes[name])
  for (let count = 0; typeof fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
    fields = fieldsOf(resolvePointer(document, fields['$ref']))
  }
  return { kind: kindOf(fields), description: describe(fields) }
}

/** Returns false if the list of the schemes is of the wrong form, which is a fault of its own. */
export function areSchemesReadable({ components }: Fields): boolean {
  const isReadable = (value: unknown): boolean => value === undefined || value === fieldsOf(value)
  return isReadable(components) && isReadable(fieldsOf(components)['securitySchemes'])
}

function kindOf({ type, scheme, [SECURITY]: choice }: Fields): SchemeKind {
  if (choice === 'ignore') return 'ignored'
  if (type === 'apiKey') return 'key'
  if (type === 'oauth2' || type === 'openIdConnect') return 'token'
  return type === 'http' && String(scheme).toLowerCase() === 'bearer' ? 'token' : 'unsupported'
}

function describe({ type, scheme }: Fields): string {
  if (type === 'mutualTLS') return 'mutual TLS'
  return type === 'http' ? `HTTP ${String(scheme).slice(0, 40)}` : `the security scheme ${String(type).slice(0, 40)}`
}
