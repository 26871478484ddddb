/**
 * The lifecycle of one major version of an API.
 *
 *   Prospect ──activated──▶ Active ──deprecated──▶ Deprecated ──retired──▶ Retired
 *
 * A deprecated API still serves calls. It can be retired when it has no active subscription, or by force. A retired API
 * never serves again; its successor is another major version.
 */

import { setup } from 'xstate'
import type { EventActions } from '../command/persisted-machine.ts'

export type ApiState = 'Prospect' | 'Active' | 'Deprecated' | 'Retired'

export type ApiEvent =
  | { readonly type: 'activated' }
  | { readonly type: 'deprecated' }
  | { readonly type: 'retired'; readonly activeSubscriptions: number; readonly isForced: boolean }

export const API_ACTIONS: EventActions<ApiEvent> = { activated: 'activate', deprecated: 'deprecate', retired: 'retire' }

export const apiLifecycle = setup({
  types: {} as { events: ApiEvent },
  guards: {
    isUnused: ({ event }) => event.type === 'retired' && (event.isForced || event.activeSubscriptions === 0),
  },
}).createMachine({
  id: 'api',
  initial: 'Prospect',
  states: {
    Prospect: { on: { activated: 'Active' } },
    Active: { on: { deprecated: 'Deprecated' } },
    Deprecated: { on: { retired: { target: 'Retired', guard: 'isUnused' } } },
    Retired: { type: 'final' },
  },
})
