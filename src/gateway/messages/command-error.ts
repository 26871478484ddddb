/** Errors of commands on their way from a gateway thread to the caller of the platform API. */

import { Problem } from '../../domain/problem.ts'
import type { CommandError } from './messages.ts'

export function toCommandError(cause: unknown): CommandError {
  if (cause instanceof Problem) return { detail: cause.message, errors: cause.errors }
  return { detail: cause instanceof Error ? cause.message : String(cause), errors: [] }
}

export function notCompiled({ detail, errors }: CommandError): Problem {
  return new Problem('specification_invalid', detail, { errors })
}

export function notDone({ detail }: CommandError): Problem {
  return new Problem('unavailable', 'The gateway could not be changed at the moment.', { cause: new Error(detail) })
}
