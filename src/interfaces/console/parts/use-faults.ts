/** The faults that the service has found in a body, for the fields that they are shown beside. */

import { useState } from 'preact/hooks'
import { CallRefused, type Problem } from '../api/client.ts'
import { faultAt } from './fault-at.ts'

export interface Faults {
  /** Why the value at an RFC 6901 pointer, or one below it, was refused. */
  readonly at: (pointer: string) => string | undefined
  /** Keeps the faults of a refusal, which it throws again. */
  readonly keep: <Result>(work: () => Promise<Result>) => Promise<Result>
}

export function useFaults(): Faults {
  const [errors, setErrors] = useState<Problem['errors']>([])
  return {
    at: (pointer) => faultAt(errors, pointer),
    async keep(work) {
      setErrors([])
      try {
        return await work()
      } catch (cause) {
        if (cause instanceof CallRefused) setErrors(cause.problem.errors)
        throw cause
      }
    },
  }
}
