/** The second level of sections, and who sees an entry of either level. */

import { texts } from '../texts.ts'

export interface Subsection {
  readonly path: string
  readonly title: string
  /** A person with this scope, in either width, sees it. Null: everybody. */
  readonly scope: string | null
}

const { navigation: names } = texts

export const SETTINGS: readonly Subsection[] = [
  { path: 'settings/me', title: names.account, scope: null },
  { path: 'settings/people', title: names.people, scope: 'users:read' },
  { path: 'settings/roles', title: names.roles, scope: 'roles:read' },
  { path: 'settings/identity-providers', title: names.identityProviders, scope: 'identityproviders:read' },
  { path: 'settings/portal', title: names.portal, scope: 'portal:write' },
  { path: 'settings/signing-keys', title: names.signingKeys, scope: 'platform:admin' },
  { path: 'settings/organisations', title: names.organisations, scope: 'platform:admin' },
  { path: 'settings/audit', title: names.audit, scope: 'audit:read' },
]

export function maySee({ scope }: Subsection, scopes: ReadonlySet<string>): boolean {
  return scope === null || scopes.has(scope) || scopes.has(`${scope}:own`)
}
