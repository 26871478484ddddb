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
  /** Only the width of the tenant shows it. */
  readonly isWide?: boolean
}

export interface Section extends Subsection {
  readonly View: FunctionComponent
  readonly preload?: () => void
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
]

export function maySee({ scope, isWide = false }: Subsection, scopes: ReadonlySet<string>): boolean {
  return scope === null || scopes.has(scope) || (!isWide && scopes.has(`${scope}:own`))
}
