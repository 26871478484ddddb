/** The tabs on the page of an API, in their order. */

import { texts } from '../../texts.ts'
import type { ApiTab } from './api-tab.ts'
import { Deprecation } from './deprecation.tsx'
import { Documentation } from './documentation.tsx'
import { Overview } from './overview.tsx'
import { Revisions } from './revisions.tsx'
import { TryIt } from './try-it.tsx'

const { tabs } = texts.apis

export const TABS: readonly ApiTab[] = [
  { path: '', title: tabs.overview, scope: 'apis:read', View: Overview },
  { path: 'documentation', title: tabs.documentation, scope: 'openapispecs:read', View: Documentation },
  { path: 'try', title: tabs.tryIt, scope: 'openapispecs:read', View: TryIt },
  { path: 'revisions', title: tabs.revisions, scope: 'proxies:read', View: Revisions },
  { path: 'deprecation', title: tabs.deprecation, scope: 'subscriptions:read', View: Deprecation },
]
