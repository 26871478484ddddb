/**
 * The steps of a programme, in order.
 *
 * The process may die between the effect of a step and its commit, so each step first checks whether its
 * effect exists: nothing is staged, subscribed or activated twice.
 */

import { createApprovalStep, type ApprovalStepOptions } from './approval-step.ts'
import { createDeploySteps, type DeployStepsOptions } from './deploy-steps.ts'
import { createLintSteps, type LintStepsOptions } from './lint-steps.ts'
import type { ProgrammeStepWork } from './step-result.ts'

export type { ProgrammeStepWork } from './step-result.ts'

export interface ProgrammeStepsOptions extends LintStepsOptions, ApprovalStepOptions, DeployStepsOptions {}

/** Waits for the decision. A programme that is retried after a rejection has no flow: the approval is requested again. */
function createAwaitStep(request: ProgrammeStepWork): ProgrammeStepWork {
  return async (programme) => {
    if (programme.body.approvalFlow !== null) return { isPaused: true }
    const requested = await request(programme)
    return { ...requested, isPaused: (requested.changes?.approvalFlow ?? null) !== null }
  }
}

/** Returns the steps in the order of `STEPS`. */
export function createProgrammeSteps(options: ProgrammeStepsOptions): readonly ProgrammeStepWork[] {
  const { validate, check, recommend } = createLintSteps(options)
  const { deploy, subscribe, activate } = createDeploySteps(options)
  const submit = createApprovalStep(options)
  return [validate, check, recommend, submit, createAwaitStep(submit), deploy, subscribe, activate]
}
