/** The tabs on the page of an API, in their order. */

import { texts } from '../../texts.ts'
import type { ApiTab } from './api-tab.ts'
import { Overview } from './overview.tsx'

const { tabs } = texts.apis

export const TABS: readonly ApiTab[] = [{ path: '', title: tabs.overview, scope: 'apis:read', View: Overview }]
