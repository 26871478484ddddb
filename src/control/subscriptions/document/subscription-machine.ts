/**
 * The states of a subscription.
 *
 *   Pending ──approved───────────────────────────────────────▶ Active ──suspended──▶ Suspended
 *     │ └───capacity.short──▶ WaitlistedForCapacity ──capacity.freed──▲ ▲──resumed─────────┘
 *     └─rejected──▶ Rejected
 *   Pending, WaitlistedForCapacity, Active, Suspended ──cancelled──▶ Cancelled
 *
 * Rejected and Cancelled are final.
 */

import { setup } from 'xstate'
import type { EventActions } from '../../command/persisted-machine.ts'

export type SubscriptionState = 'Pending' | 'WaitlistedForCapacity' | 'Active' | 'Suspended' | 'Rejected' | 'Cancelled'

export type SubscriptionEvent =
  | { readonly type: 'approved' }
  | { readonly type: 'rejected' }
  | { readonly type: 'capacity.short' }
  | { readonly type: 'capacity.freed' }
  | { readonly type: 'suspended' }
  | { readonly type: 'resumed' }
  | { readonly type: 'cancelled' }

export const SUBSCRIPTION_ACTIONS: EventActions<SubscriptionEvent> = {
  approved: 'decide',
  rejected: 'decide',
  'capacity.short': null,
  'capacity.freed': null,
  suspended: 'suspend',
  resumed: 'resume',
  cancelled: 'cancel',
}

export const subscription = setup({
  types: {} as { events: SubscriptionEvent },
}).createMachine({
  id: 'subscription',
  initial: 'Pending',
  states: {
    Pending: {
      on: {
        approved: 'Active',
        rejected: 'Rejected',
        'capacity.short': 'WaitlistedForCapacity',
        cancelled: 'Cancelled',
      },
    },
    WaitlistedForCapacity: { on: { 'capacity.freed': 'Active', cancelled: 'Cancelled' } },
    Active: { on: { suspended: 'Suspended', cancelled: 'Cancelled' } },
    Suspended: { on: { resumed: 'Active', cancelled: 'Cancelled' } },
    Rejected: { type: 'final' },
    Cancelled: { type: 'final' },
  },
})
