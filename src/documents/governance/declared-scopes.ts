/**
 * The scopes of a document: those that its OAuth schemes list, and those that its operations require.
 *
 * Scopes are copied into tokens and `WWW-Authenticate`, so they must follow RFC 6749, section 3.3. A scope can then neither end
 * a quoted string nor inject a header.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import type { DeclaredOperation } from './operations.ts'
import { escapePointer } from '../../foundation/json/references.ts'
import { SECURITY } from './security-schemes.ts'

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/

/** Returns the scopes, sorted and without duplicates. Appends faults to `faults`. */
export function readDeclaredScopes(
  document: Fields,
  operations: readonly DeclaredOperation[],
  faults: ProblemPointer[],
): string[] {
  const scopes = new Set<string>()
  const add = (scope: unknown, pointer: string): void => {
    if (typeof scope === 'string' && SCOPE.test(scope)) scopes.add(scope)
    else
      faults.push({
        pointer,
        detail: 'A scope must have 1 to 200 printable ASCII characters, without space, " and \\.',
      })
  }
  for (const [name, scheme] of Object.entries(fieldsOf(fieldsOf(document['components'])['securitySchemes']))) {
    const choice = fieldsOf(scheme)[SECURITY]
    if (choice === 'ignore') continue
    if (choice !== undefined) {
      const pointer = `/components/securitySchemes/${escapePointer(name)}/${SECURITY}`
      faults.push({ pointer, detail: 'The only value of this extension is `ignore`, which leaves the scheme out.' })
    }
    for (const [flow, fields] of Object.entries(fieldsOf(fieldsOf(scheme)['flows']))) {
      const pointer = `/components/securitySchemes/${escapePointer(name)}/flows/${flow}/scopes`
      for (const scope of Object.keys(fieldsOf(fieldsOf(fields)['scopes']))) add(scope, pointer)
    }
  }
  addUsed(document['security'], '/security', add)
  for (const { fields, pointer } of operations) addUsed(fields['security'], `${pointer}/security`, add)
  return [...scopes].sort()
}

function addUsed(security: unknown, pointer: string, add: (scope: unknown, pointer: string) => void): void {
  if (!Array.isArray(security)) return
  security.forEach((requirement: unknown, index) => {
    for (const [name, scopes] of Object.entries(fieldsOf(requirement))) {
      if (Array.isArray(scopes)) for (const scope of scopes) add(scope, `${pointer}/${index}/${escapePointer(name)}`)
    }
  })
}
