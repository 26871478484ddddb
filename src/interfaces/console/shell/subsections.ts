/** The second level of sections, and who sees an entry of either level. */

import { texts } from '../texts.ts'

export interface Subsection {
  readonly path: string
  readonly title: string
  /** A person with this scope, or with one of these, in either width, sees it. Null: everybody who sees the section. */
  readonly scope: string | readonly string[] | null
  /** Only the width of the tenant shows it. */
  readonly isWide?: boolean
  /** It has an address, and no place in the navigation. */
  readonly isHidden?: true
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
  { path: 'settings/in-force', title: texts.settingsInForce.title, scope: 'settings:read' },
  { path: 'settings/health', title: texts.health.title, scope: 'health:read' },
  // The page of the health leads there: most services are one node.
  { path: 'settings/nodes', title: texts.nodes.title, scope: 'health:read', isHidden: true },
]

interface Entry extends Subsection {
  readonly children?: readonly Subsection[]
}

/** A section is seen as well by a person who sees one of its second level. */
export function maySee({ scope, isWide = false, children = [] }: Entry, scopes: ReadonlySet<string>): boolean {
  if (scope === null) return true
  const isHeld = [scope].flat().some((each) => scopes.has(each) || (!isWide && scopes.has(`${each}:own`)))
  return isHeld || children.some((each) => each.scope !== null && maySee(each, scopes))
}
