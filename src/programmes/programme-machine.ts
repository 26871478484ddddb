/**
 * A programme on its way from a document to a running API: eight steps, one after the other.
 *
 *   running(1) ─step.done─▶ running(2) … running(8) ─step.done─▶ succeeded
 *      ▲  ▲                     │ └─step.failed─▶ failed ─retried─▶ running at the step that failed
 *      │  └──────approved (6)───┴─step.paused─▶ waiting ──rejected──▶ failed
 *      └──updated── from waiting, failed and succeeded
 *
 * Where it stands is in the context, so that a process that died goes on with the step it was in.
 */

import { assign, setup } from 'xstate'

export const STEPS = [
  'Validate Specification',
  'Compliance Check',
  'Generate Recommendations',
  'Submit to Governance',
  'Await Approval',
  'Deploy to Gateway (staging)',
  'Create Subscription',
  'Activate Revision',
] as const

export type ProgrammeState = 'running' | 'waiting' | 'failed' | 'succeeded'

export interface ProgrammeEvent {
  readonly type: 'step.done' | 'step.paused' | 'step.failed' | 'approved' | 'rejected' | 'retried' | 'updated'
}

export const programme = setup({
  types: {} as { context: { readonly step: number }; events: ProgrammeEvent; input: undefined },
  guards: {
    isLast: ({ context }) => context.step === STEPS.length,
  },
  actions: {
    goOn: assign({ step: ({ context }) => context.step + 1 }),
    beginAgain: assign({ step: 1 }),
  },
}).createMachine({
  id: 'programme',
  context: { step: 1 },
  initial: 'running',
  states: {
    running: {
      on: {
        'step.done': [{ guard: 'isLast', target: 'succeeded' }, { actions: 'goOn' }],
        'step.paused': 'waiting',
        'step.failed': 'failed',
      },
    },
    waiting: {
      on: {
        approved: { target: 'running', actions: 'goOn' },
        rejected: 'failed',
        updated: { target: 'running', actions: 'beginAgain' },
      },
    },
    failed: {
      on: {
        retried: 'running',
        updated: { target: 'running', actions: 'beginAgain' },
      },
    },
    succeeded: { on: { updated: { target: 'running', actions: 'beginAgain' } } },
  },
})
