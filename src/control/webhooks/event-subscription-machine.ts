/**
 * The states of an event subscription.
 *
 *   active ──failed──▶ failing ──failed, for five days──▶ disabled
 *     ▲ └◀──delivered──┘   │ gone (410), disabled            │
 *     │                    └────────────────────────────────▶│
 *     └──────────────────────────enabled─────────────────────┘
 *
 * The machine has no timers: events carry the time, and the context holds the time of the first failure.
 */

import { assign, setup } from 'xstate'
import type { EventActions } from '../command/persisted-machine.ts'

export const EVENT_SUBSCRIPTION_STATES = ['active', 'failing', 'disabled'] as const
export type EventSubscriptionState = (typeof EVENT_SUBSCRIPTION_STATES)[number]

export type EventSubscriptionEvent =
  | { readonly type: 'delivered' | 'gone' | 'disabled' | 'enabled' }
  | { readonly type: 'failed'; readonly atMs: number }

/** Deliveries stop after every attempt has failed for this long. */
export const GIVES_UP_AFTER_MS = 5 * 86_400_000

export const EVENT_SUBSCRIPTION_ACTIONS: EventActions<EventSubscriptionEvent> = {
  delivered: null,
  failed: null,
  gone: null,
  disabled: 'update',
  enabled: 'update',
}

export const eventSubscription = setup({
  types: {} as {
    context: { readonly failingSinceMs: number | null }
    events: EventSubscriptionEvent
    input: undefined
  },
  guards: {
    hasFailedTooLong: ({ context, event }) =>
      event.type === 'failed' && event.atMs - (context.failingSinceMs ?? event.atMs) >= GIVES_UP_AFTER_MS,
  },
  actions: {
    setFailingSince: assign({ failingSinceMs: ({ event }) => (event.type === 'failed' ? event.atMs : null) }),
    clearFailingSince: assign({ failingSinceMs: null }),
  },
}).createMachine({
  id: 'eventSubscription',
  context: { failingSinceMs: null },
  initial: 'active',
  states: {
    active: {
      on: {
        delivered: 'active',
        failed: { target: 'failing', actions: 'setFailingSince' },
        gone: 'disabled',
        disabled: 'disabled',
        enabled: 'active',
      },
    },
    failing: {
      on: {
        delivered: { target: 'active', actions: 'clearFailingSince' },
        failed: [{ guard: 'hasFailedTooLong', target: 'disabled' }, { target: 'failing' }],
        gone: 'disabled',
        disabled: 'disabled',
        enabled: { target: 'active', actions: 'clearFailingSince' },
      },
    },
    disabled: {
      on: { enabled: { target: 'active', actions: 'clearFailingSince' }, disabled: 'disabled' },
    },
  },
})
