/**
 * The life of one major version of an API.
 *
 *   Prospect ──activated──▶ Active ──deprecated──▶ Deprecated ──retired──▶ Retired
 *
 * Deprecated goes on to serve. It is retired when nobody is subscribed any more, or by force. Retired is
 * the end: what comes after is another major version.
 */

import { setup } from 'xstate'

export type ApiState = 'Prospect' | 'Active' | 'Deprecated' | 'Retired'

export type ApiEvent =
  | { readonly type: 'activated' }
  | { readonly type: 'deprecated' }
  | { readonly type: 'retired'; readonly activeSubscriptions: number; readonly isForced: boolean }

export const apiLifecycle = setup({
  types: {} as { events: ApiEvent },
  guards: {
    isFree: ({ event }) => event.type === 'retired' && (event.isForced || event.activeSubscriptions === 0),
  },
}).createMachine({
  id: 'api',
  initial: 'Prospect',
  states: {
    Prospect: { on: { activated: 'Active' } },
    Active: { on: { deprecated: 'Deprecated' } },
    Deprecated: { on: { retired: { target: 'Retired', guard: 'isFree' } } },
    Retired: { type: 'final' },
  },
})
