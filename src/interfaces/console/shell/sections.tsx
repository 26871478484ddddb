/** The sections of the console: the path, the scopes that show it, and its view. */

import type { FunctionComponent } from 'preact'
import { texts } from '../texts.ts'
import { Overview } from '../views/overview/index.tsx'
import { lazy } from './lazy.tsx'
import { SETTINGS, type Subsection } from './subsections.ts'

export { maySee, type Subsection } from './subsections.ts'

export interface Section extends Subsection {
  readonly View: FunctionComponent
  readonly preload?: () => void
  /** The palette leaves it out: it is another address of a section. */
  readonly isAlias?: true
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
    children: [
      { path: 'apis', title: texts.apis.all, scope: 'apis:read' },
      { path: 'apis/staged', title: texts.apis.staged.title, scope: 'proxies:read', isWide: true },
    ],
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
    children: SETTINGS,
  },
]
