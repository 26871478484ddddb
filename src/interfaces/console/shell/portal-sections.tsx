/** The sections of the portal: the console of a person whose rights concern consumers only. */

import { texts } from '../texts.ts'
import { lazy } from './lazy.tsx'
import { SECTIONS, type Section } from './sections.tsx'

const { navigation: names } = texts

const PORTAL_SECTIONS: readonly Section[] = [
  {
    path: '',
    title: names.start,
    scope: null,
    ...lazy(async () => (await import('../views/portal/start.tsx')).Start),
    key: 'o',
  },
  {
    path: 'apis',
    title: names.apis,
    scope: 'apis:read',
    ...lazy(async () => (await import('../views/portal/apis.tsx')).PortalApis),
    key: 'a',
  },
  {
    path: 'keys',
    title: names.keys,
    scope: 'subscriptions:read',
    ...lazy(async () => (await import('../views/portal/keys.tsx')).Keys),
    key: 'k',
  },
  // As views call it that the portal and the console have in common.
  {
    path: 'subscriptions',
    title: names.keys,
    scope: 'subscriptions:read',
    ...lazy(async () => (await import('../views/portal/keys.tsx')).Keys),
    key: '',
    isHidden: true,
    isAlias: true,
  },
  ...shared('usage'),
  ...shared('requests'),
  ...shared('webhooks'),
  ...shared('risks').map((section): Section => ({ ...section, isHidden: true })),
  ...shared('settings').map((section): Section => ({ ...section, isHidden: true })),
]

function shared(path: string): readonly Section[] {
  return SECTIONS.filter((section) => section.path === path)
}

/** Whether all rights of the person concern consumers, or the own account. */
export function isPortal(scopes: ReadonlySet<string>): boolean {
  return [...scopes].every((scope) => scope.endsWith(':own') || scope.startsWith('me:'))
}

export function sectionsOf(scopes: ReadonlySet<string>): readonly Section[] {
  return isPortal(scopes) ? PORTAL_SECTIONS : SECTIONS
}
