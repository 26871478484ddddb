/** The shape of a programme step, which `programme-steps.ts` lists in order. */

import type { Document, Write } from '../../storage/store/registry.ts'
import type { ProgrammeBody } from './programme-document.ts'

/** Changes of the programme and further writes for the same commit, or that the step waits for a decision. */
export interface StepResult {
  readonly changes?: Partial<ProgrammeBody>
  readonly writes?: readonly Write[]
  readonly isPaused?: boolean
}

export type ProgrammeStepWork = (programme: Document<ProgrammeBody>) => Promise<StepResult>
