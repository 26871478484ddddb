/** The sections of the console: the path, the scopes that show it, and its view. */

import type { FunctionComponent } from 'preact'
import { texts } from '../texts.ts'
import { Overview } from '../views/overview/index.tsx'
import { lazy } from './lazy.tsx'

export interface Subsection {
  readonly path: string
  readonly title: string
  /** A person with this scope, or with one of these, in either width, sees it. Null: everybody. */
  readonly scope: string | readonly string[] | null
  /** Only the width of the tenant shows it. */
  readonly isWide?: boolean
}

export interface Section extends Subsection {
  readonly View: FunctionComponent
  readonly preload?: () => void
  /** It has an address, and no place in the navigation. */
  readonly isHidden?: true
  /** After `g`. */
  readonly key: string
  /** The second level. The view of the section shows all of them. */
  readonly children?: readonly Subsection[]
}

const { navigation: names, risks } = texts

export const SECTIONS: readonly Section[] = [
  { path: '', title: names.overview, scope: null, View: Overview, key: 'o' },
  {
    path: 'risks',
    title: names.risks,
    scope: 'risks:read',
    ...lazy(async () => (await import('../views/risks/index.tsx')).Risks),
    key: 'r',
    children: [
      { path: 'risks', title: risks.live, scope: null },
      { path: 'risks/episodes', title: risks.episodes, scope: null },
      { path: 'risks/mutes', title: risks.mutes, scope: 'risks:read', isWide: true },
    ],
  },
  {
    path: 'apis',
    title: names.apis,
    scope: 'apis:read',
    ...lazy(async () => (await import('../views/apis/index.tsx')).Apis),
    key: 'a',
  },
  {
    path: 'products',
    title: names.products,
    scope: 'products:read',
    ...lazy(async () => (await import('../views/products/index.tsx')).Products),
    key: 'd',
  },
  {
    path: 'consumers',
    title: names.consumers,
    scope: 'consumers:read',
    ...lazy(async () => (await import('../views/consumers/index.tsx')).Consumers),
    key: 'c',
  },
  {
    path: 'subscriptions',
    title: names.subscriptions,
    scope: ['subscriptions:read', 'approvals:read'],
    ...lazy(async () => (await import('../views/subscriptions/index.tsx')).Subscriptions),
    key: 's',
    children: [
      { path: 'subscriptions', title: names.allSubscriptions, scope: 'subscriptions:read' },
      { path: 'subscriptions/approvals', title: names.approvals, scope: 'approvals:read' },
      { path: 'subscriptions/waiting', title: names.waiting, scope: 'subscriptions:read' },
    ],
  },
  {
    path: 'usage',
    title: names.usage,
    scope: 'usage:read',
    ...lazy(async () => (await import('../views/usage/index.tsx')).Usage),
    key: 'u',
    children: [
      { path: 'usage', title: texts.usage.tabs.summaries, scope: null },
      { path: 'usage/items', title: texts.usage.tabs.items, scope: null },
      { path: 'usage/statements', title: texts.usage.tabs.statements, scope: null },
    ],
  },
  {
    path: 'requests',
    title: names.requests,
    scope: 'requests:read',
    ...lazy(async () => (await import('../views/requests/index.tsx')).Requests),
    key: 'q',
    children: [
      { path: 'requests', title: names.calls, scope: 'requests:read' },
      { path: 'requests/explain', title: names.explain, scope: 'requests:read' },
    ],
  },
  {
    path: 'webhooks',
    title: names.webhooks,
    scope: 'eventsubscriptions:read',
    ...lazy(async () => (await import('../views/webhooks/index.tsx')).Webhooks),
    key: 'w',
  },
  {
    path: 'governance',
    title: names.governance,
    scope: 'programmes:read',
    ...lazy(async () => (await import('../views/governance/index.tsx')).Governance),
    key: 'v',
    children: [
      { path: 'governance/programmes', title: texts.governance.parts.programmes, scope: 'programmes:read' },
      { path: 'governance/rulesets', title: texts.governance.parts.rulesets, scope: 'policy:read' },
      { path: 'governance/adrs', title: texts.governance.parts.adrs, scope: 'adrs:read' },
      { path: 'governance/principles', title: texts.governance.parts.principles, scope: 'principles:read' },
      { path: 'governance/policy', title: texts.governance.parts.policy, scope: 'policy:read' },
    ],
  },
  {
    path: 'settings',
    title: names.settings,
    scope: null,
    ...lazy(async () => (await import('../views/settings/index.tsx')).Settings),
    key: 't',
    children: [
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
    ],
  },
]

/** A section is seen as well by a person who sees one of its second level. */
export function maySee(section: Subsection & Pick<Section, 'children'>, scopes: ReadonlySet<string>): boolean {
  const { scope, isWide = false, children = [] } = section
  if (scope === null) return true
  const isHeld = [scope].flat().some((each) => scopes.has(each) || (!isWide && scopes.has(`${each}:own`)))
  return isHeld || children.some((each) => each.scope !== null && maySee(each, scopes))
}
