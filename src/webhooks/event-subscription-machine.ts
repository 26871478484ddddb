/**
 * A registration for events.
 *
 *   active ──failed──▶ failing ──failed, for five days──▶ disabled
 *     ▲ └◀──delivered──┘   │ gone (410), disabled            │
 *     │                    └────────────────────────────────▶│
 *     └──────────────────────────enabled─────────────────────┘
 *
 * Time enters by events: since when nothing could be delivered is in the context.
 */

import { assign, setup } from 'xstate'

export const EVENT_SUBSCRIPTION_STATES = ['active', 'failing', 'disabled'] as const
export type EventSubscriptionState = (typeof EVENT_SUBSCRIPTION_STATES)[number]

export type EventSubscriptionEvent =
  { readonly type: 'delivered' | 'gone' | 'disabled' | 'enabled' } | { readonly type: 'failed'; readonly atMs: number }

/** How long nothing may be delivered before nothing more is tried. */
export const GIVES_UP_AFTER_MS = 5 * 86_400_000

export const eventSubscription = setup({
  types: {} as {
    context: { readonly failingSinceMs: number | null }
    events: EventSubscriptionEvent
    input: undefined
  },
  guards: {
    isForTooLong: ({ context, event }) =>
      event.type === 'failed' && event.atMs - (context.failingSinceMs ?? event.atMs) >= GIVES_UP_AFTER_MS,
  },
  actions: {
    noteSince: assign({ failingSinceMs: ({ event }) => (event.type === 'failed' ? event.atMs : null) }),
    forgetSince: assign({ failingSinceMs: null }),
  },
}).createMachine({
  id: 'eventSubscription',
  context: { failingSinceMs: null },
  initial: 'active',
  states: {
    active: {
      on: {
        delivered: 'active',
        failed: { target: 'failing', actions: 'noteSince' },
        gone: 'disabled',
        disabled: 'disabled',
        enabled: 'active',
      },
    },
    failing: {
      on: {
        delivered: { target: 'active', actions: 'forgetSince' },
        failed: [{ guard: 'isForTooLong', target: 'disabled' }, { target: 'failing' }],
        gone: 'disabled',
        disabled: 'disabled',
        enabled: { target: 'active', actions: 'forgetSince' },
      },
    },
    disabled: {
      on: { enabled: { target: 'active', actions: 'forgetSince' }, disabled: 'disabled' },
    },
  },
})
