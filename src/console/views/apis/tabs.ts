/** The tabs on the page of an API, in their order. */

import { texts } from '../../texts.ts'
import type { ApiTab } from './api-tab.ts'
import { Declarations } from './declarations.tsx'
import { Findings } from './findings.tsx'
import { Overview } from './overview.tsx'
import { ApiPolicy } from './policy.tsx'
import { ApiProgramme } from './programme.tsx'
import { ServiceLevel } from './service-level.tsx'

const { tabs } = texts.apis

export const TABS: readonly ApiTab[] = [
  { path: '', title: tabs.overview, scope: 'apis:read', View: Overview },
  { path: 'policy', title: tabs.policy, scope: 'apis:read', View: ApiPolicy },
  { path: 'declarations', title: tabs.declarations, scope: 'openslaspecs:read', View: Declarations },
  { path: 'service-level', title: tabs.serviceLevel, scope: 'apis:read', View: ServiceLevel },
  { path: 'programme', title: tabs.programme, scope: 'programmes:read', View: ApiProgramme },
  { path: 'findings', title: tabs.findings, scope: 'programmes:read', View: Findings },
]
