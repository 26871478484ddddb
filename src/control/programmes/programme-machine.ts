/**
 * The state machine of a programme, which takes a document to a running API in eight consecutive steps.
 *
 *   running(1) ─step.done─▶ running(2) … running(8) ─step.done─▶ succeeded
 *      ▲  ▲                     │ └─step.failed─▶ failed ─retried─▶ running at the step that failed
 *      │  └──────approved (6)───┴─step.paused─▶ waiting ──rejected──▶ failed
 *      └──updated── from waiting, failed and succeeded
 *
 * The context holds the current step, so that a programme resumes there after a restart.
 */

import { assign, setup } from 'xstate'
import type { EventActions } from '../command/persisted-machine.ts'

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

export const PROGRAMME_ACTIONS: EventActions<ProgrammeEvent> = {
  'step.done': null,
  'step.paused': null,
  'step.failed': null,
  approved: 'decide',
  rejected: 'decide',
  retried: 'retry',
  updated: 'update',
}

export const programme = setup({
  types: {} as { context: { readonly step: number }; events: ProgrammeEvent; input: undefined },
  guards: {
    isLast: ({ context }) => context.step === STEPS.length,
  },
  actions: {
    nextStep: assign({ step: ({ context }) => context.step + 1 }),
    restart: assign({ step: 1 }),
  },
}).createMachine({
  id: 'programme',
  context: { step: 1 },
  initial: 'running',
  states: {
    running: {
      on: {
        'step.done': [{ guard: 'isLast', target: 'succeeded' }, { actions: 'nextStep' }],
        'step.paused': 'waiting',
        'step.failed': 'failed',
      },
    },
    waiting: {
      on: {
        approved: { target: 'running', actions: 'nextStep' },
        rejected: 'failed',
        updated: { target: 'running', actions: 'restart' },
      },
    },
    failed: {
      on: {
        retried: 'running',
        updated: { target: 'running', actions: 'restart' },
      },
    },
    succeeded: { on: { updated: { target: 'running', actions: 'restart' } } },
  },
})
