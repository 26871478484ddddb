/** Errors of commands on gateway threads: as a message to the main thread, and as a problem of the platform API. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { CommandError } from './messages.ts'

export function toCommandError(cause: unknown): CommandError {
  if (cause instanceof Problem) return { detail: cause.message, errors: cause.errors }
  return { detail: cause instanceof Error ? cause.message : String(cause), errors: [] }
}

/** Returns the problem of a revision that a gateway thread could not compile. */
export function toCompileProblem({ detail, errors }: CommandError): Problem {
  return new Problem('specification_invalid', detail, { errors })
}

/** Returns the problem of any other failed command; its cause is for the log only. */
export function toCommandProblem({ detail }: CommandError): Problem {
  return new Problem('unavailable', 'The gateway could not apply the change. Retry later.', {
    cause: new Error(detail),
  })
}
