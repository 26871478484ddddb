/** The code and the optional details with which a stage refuses a call. */

import type { LimitState, Stage } from '../../foundation/domain/explanation.ts'
import type { ProblemCode, ProblemPointer } from '../../foundation/domain/problem.ts'
import type { Outcome } from '../../foundation/domain/outcome.ts'

export type RefusalCode = Outcome & ProblemCode

export interface RefusalOptions {
  readonly errors?: readonly ProblemPointer[]
  /** Name, value, … */
  readonly headers?: readonly string[]
  readonly extensions?: Readonly<Record<string, unknown>>
  /** Outcome in the call record; the code by default. */
  readonly recordedAs?: Outcome
  /** The stage that refused; needed if the code does not imply it. */
  readonly stage?: Stage
  /** The limit that refused. */
  readonly limit?: LimitState
}
