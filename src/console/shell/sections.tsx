/** The sections of the console: the path, the scopes that show it, and its view. */

import type { FunctionComponent } from 'preact'
import { texts } from '../texts.ts'
import { Overview } from '../views/overview/index.tsx'
import { lazy } from './lazy.tsx'

export interface Subsection {
  readonly path: string
  readonly title: string
  /** A person with this scope, in either width, sees it. Null: everybody. */
  readonly scope: string | null
}

export interface Section extends Subsection {
  readonly View: FunctionComponent
  readonly preload?: () => void
  /** After `g`. */
  readonly key: string
  /** The second level. The view of the section shows all of them. */
  readonly children?: readonly Subsection[]
}

const { navigation: names } = texts

export const SECTIONS: readonly Section[] = [
  { path: '', title: names.overview, scope: null, View: Overview, key: 'o' },
  {
    path: 'risks',
    title: names.risks,
    scope: 'risks:read',
    ...lazy(async () => (await import('../views/risks/index.tsx')).Risks),
    key: 'r',
  },
  {
    path: 'apis',
    title: names.apis,
    scope: 'apis:read',
    ...lazy(async () => (await import('../views/apis/index.tsx')).Apis),
    key: 'a',
  },
  {
    path: 'consumers',
    title: names.consumers,
    scope: 'consumers:read',
    ...lazy(async () => (await import('../views/consumers/index.tsx')).Consumers),
    key: 'c',
  },
  {
    path: 'approvals',
    title: names.approvals,
    scope: 'approvals:read',
    ...lazy(async () => (await import('../views/approvals/index.tsx')).Approvals),
    key: 'p',
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
  },
  {
    path: 'settings',
    title: names.settings,
    scope: 'settings:read',
    ...lazy(async () => (await import('../views/settings/process.tsx')).Process),
    key: 't',
    children: [
      { path: 'settings/in-force', title: texts.settingsInForce.title, scope: 'settings:read' },
      { path: 'settings/health', title: texts.health.title, scope: 'health:read' },
    ],
  },
]

export function maySee({ scope }: Subsection, scopes: ReadonlySet<string>): boolean {
  return scope === null || scopes.has(scope) || scopes.has(`${scope}:own`)
}
