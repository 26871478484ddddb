/** Actions that the palette offers: each opens the view that has it, with its dialog. */

import { texts } from '../texts.ts'

export interface PaletteAction {
  readonly title: string
  /** Path below the console; `open` names the dialog. */
  readonly path: string
  readonly scope: string
}

const { actions: words } = texts.palette

export const ACTIONS: readonly PaletteAction[] = [
  { title: words.publishApi, path: 'apis/new', scope: 'proxies:write' },
  { title: words.createConsumer, path: 'consumers?open=create', scope: 'consumers:write' },
  { title: words.createProduct, path: 'products?open=create', scope: 'products:write' },
  { title: words.createWebhook, path: 'webhooks?open=create', scope: 'eventsubscriptions:write' },
  { title: words.invitePerson, path: 'settings/people?open=create', scope: 'users:write' },
  { title: words.createRole, path: 'settings/roles?open=create', scope: 'roles:write' },
  { title: words.explain, path: 'requests/explain', scope: 'requests:read' },
  { title: words.myAccount, path: 'settings/me', scope: 'me:read' },
]

/** Those of the portal, whose person subscribes. */
export const PORTAL_ACTIONS: readonly PaletteAction[] = [
  { title: words.subscribe, path: 'apis', scope: 'subscriptions:write' },
  { title: words.createWebhook, path: 'webhooks?open=create', scope: 'eventsubscriptions:write' },
  { title: words.explain, path: 'requests/explain', scope: 'requests:read' },
  { title: words.myAccount, path: 'settings/me', scope: 'me:read' },
]
