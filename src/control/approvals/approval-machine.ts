/**
 * A request that needs approval by another person.
 *
 *   Submitted ──opened──▶ InProgress ──approved──▶ Approved ──completed, withdrawn──▶ Complete
 *                          ▲   │ │ └──rejected──▶ Rejected ──completed──▶ Complete
 *                          │   │ └────withdrawn─────────────────────────▶ Complete
 *             resubmitted──┘   └──amendment.required──▶ AmendmentRequired ──withdrawn──▶ Complete
 *
 * The requester cannot approve the request. Complete: the decision has taken effect; a tier change stays Approved until capacity
 * is free.
 */

import { setup } from 'xstate'
import type { EventActions } from '../command/persisted-machine.ts'

export type ApprovalState = 'Submitted' | 'InProgress' | 'Approved' | 'Rejected' | 'AmendmentRequired' | 'Complete'

export type ApprovalEvent =
  | { readonly type: 'opened' | 'resubmitted' | 'withdrawn' | 'completed' }
  | { readonly type: 'approved' | 'rejected' | 'amendment.required'; readonly approver: string }

const DECIDED = {
  opened: null,
  completed: null,
  approved: 'decide',
  rejected: 'decide',
  'amendment.required': 'decide',
} as const
/** By the kind of what is approved. A tier change is requested again instead of changed. */
export const APPROVAL_ACTIONS: Readonly<
  Record<'subscription' | 'tierChange' | 'programme', EventActions<ApprovalEvent>>
> = {
  subscription: { ...DECIDED, resubmitted: 'set-scopes', withdrawn: 'cancel' },
  tierChange: { ...DECIDED, resubmitted: 'change-tier', withdrawn: 'change-tier' },
  programme: { ...DECIDED, resubmitted: 'update', withdrawn: 'update' },
}

export const approvalFlow = setup({
  types: {} as {
    context: { readonly requester: string }
    events: ApprovalEvent
    input: { readonly requester: string }
  },
  guards: {
    isAnother: ({ context, event }) => 'approver' in event && event.approver !== context.requester,
  },
}).createMachine({
  id: 'approvalFlow',
  context: ({ input }) => ({ requester: input.requester }),
  initial: 'Submitted',
  states: {
    Submitted: { on: { opened: 'InProgress' } },
    InProgress: {
      on: {
        approved: { target: 'Approved', guard: 'isAnother' },
        rejected: { target: 'Rejected', guard: 'isAnother' },
        'amendment.required': { target: 'AmendmentRequired', guard: 'isAnother' },
        withdrawn: 'Complete',
      },
    },
    AmendmentRequired: { on: { resubmitted: 'InProgress', withdrawn: 'Complete' } },
    Approved: { on: { completed: 'Complete', withdrawn: 'Complete' } },
    Rejected: { on: { completed: 'Complete' } },
    Complete: { type: 'final' },
  },
})
