/**
 * The states of one event on its way to one receiver.
 *
 *   pending ──succeeded──▶ delivered ──redelivered──▶ pending
 *     │  ▲└─failed─┘ (retried)
 *     └──failed for the tenth time, abandoned──▶ failed ──redelivered──▶ pending
 *
 * The time of the next attempt is stored beside the snapshot, because a snapshot restores no timers.
 */

import { assign, setup } from 'xstate'
import type { EventActions } from '../command/persisted-machine.ts'

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export interface DeliveryEvent {
  readonly type: 'succeeded' | 'failed' | 'abandoned' | 'redelivered'
}

/** The first attempt and nine retries. */
export const ATTEMPTS_MAX = 10

export const DELIVERY_ACTIONS: EventActions<DeliveryEvent> = {
  succeeded: null,
  failed: null,
  abandoned: null,
  redelivered: 'redeliver',
}

export const webhookDelivery = setup({
  types: {} as { context: { readonly tries: number }; events: DeliveryEvent; input: undefined },
  guards: { isLast: ({ context }) => context.tries + 1 >= ATTEMPTS_MAX },
  actions: {
    countTry: assign({ tries: ({ context }) => context.tries + 1 }),
    resetTries: assign({ tries: 0 }),
  },
}).createMachine({
  id: 'webhookDelivery',
  context: { tries: 0 },
  initial: 'pending',
  states: {
    pending: {
      on: {
        succeeded: { target: 'delivered', actions: 'countTry' },
        failed: [{ guard: 'isLast', target: 'failed', actions: 'countTry' }, { actions: 'countTry' }],
        abandoned: 'failed',
      },
    },
    delivered: { on: { redelivered: { target: 'pending', actions: 'resetTries' } } },
    failed: { on: { redelivered: { target: 'pending', actions: 'resetTries' } } },
  },
})
