/** The sections of the console: the path, the scopes that show it, and its view. */

import type { FunctionComponent } from 'preact'
import { texts } from '../texts.ts'
import { Apis } from '../views/apis.tsx'
import { Approvals } from '../views/approvals.tsx'
import { Consumers } from '../views/consumers.tsx'
import { Overview } from '../views/overview.tsx'
import { Requests } from '../views/requests.tsx'
import { Risks } from '../views/risks.tsx'
import { Usage } from '../views/usage.tsx'

export interface Section {
  readonly path: string
  readonly title: string
  /** A person with this scope, in either width, sees the section. Null: everybody. */
  readonly scope: string | null
  readonly View: FunctionComponent
  /** After `g`. */
  readonly key: string
}

const { navigation } = texts

export const SECTIONS: readonly Section[] = [
  { path: '', title: navigation.overview, scope: null, View: Overview, key: 'o' },
  { path: 'risks', title: navigation.risks, scope: 'risks:read', View: Risks, key: 'r' },
  { path: 'apis', title: navigation.apis, scope: 'apis:read', View: Apis, key: 'a' },
  { path: 'consumers', title: navigation.consumers, scope: 'consumers:read', View: Consumers, key: 'c' },
  { path: 'approvals', title: navigation.approvals, scope: 'approvals:read', View: Approvals, key: 'p' },
  { path: 'usage', title: navigation.usage, scope: 'usage:read', View: Usage, key: 'u' },
  { path: 'requests', title: navigation.requests, scope: 'requests:read', View: Requests, key: 'q' },
]

export function maySee({ scope }: Section, scopes: ReadonlySet<string>): boolean {
  return scope === null || scopes.has(scope) || scopes.has(`${scope}:own`)
}
