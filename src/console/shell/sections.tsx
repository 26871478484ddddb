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
  /** It has an address, and no place in the navigation. */
  readonly isHidden?: true
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
  },
  {
    path: 'requests',
    title: names.requests,
    scope: 'requests:read',
    ...lazy(async () => (await import('../views/requests/index.tsx')).Requests),
    key: 'q',
  },
  {
    path: 'webhooks',
    title: names.webhooks,
    scope: 'eventsubscriptions:read',
    ...lazy(async () => (await import('../views/webhooks/index.tsx')).Webhooks),
    key: 'w',
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
