/** The tabs on the page of an API, in their order. */

import { texts } from '../../texts.ts'
import type { ApiTab } from './api-tab.ts'
import { BackendTab } from './backend.tsx'
import { Declarations } from './declarations.tsx'
import { Deprecation } from './deprecation.tsx'
import { Documentation } from './documentation.tsx'
import { Findings } from './findings.tsx'
import { Overview } from './overview.tsx'
import { ApiPolicy } from './policy.tsx'
import { ApiProgramme } from './programme.tsx'
import { Revisions } from './revisions.tsx'
import { ServiceLevel } from './service-level.tsx'
import { TryIt } from './try-it.tsx'

const { tabs } = texts.apis

export const TABS: readonly ApiTab[] = [
  { path: '', title: tabs.overview, scope: 'apis:read', View: Overview },
  { path: 'documentation', title: tabs.documentation, scope: 'apis:read', View: Documentation },
  { path: 'try', title: tabs.tryIt, scope: 'apis:read', View: TryIt },
  { path: 'revisions', title: tabs.revisions, scope: 'proxies:read', View: Revisions },
  { path: 'backend', title: tabs.backend, scope: 'proxies:read', View: BackendTab },
  { path: 'policy', title: tabs.policy, scope: 'apis:read', View: ApiPolicy },
  { path: 'declarations', title: tabs.declarations, scope: 'openslaspecs:read', View: Declarations },
  { path: 'service-level', title: tabs.serviceLevel, scope: 'apis:read', View: ServiceLevel },
  { path: 'programme', title: tabs.programme, scope: 'programmes:read', View: ApiProgramme },
  { path: 'findings', title: tabs.findings, scope: 'programmes:read', View: Findings },
  { path: 'deprecation', title: tabs.deprecation, scope: 'subscriptions:read', View: Deprecation },
]
