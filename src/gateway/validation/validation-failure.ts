/** Reason why a request does not match its specification: JSON pointers and messages, never values that the client sent. */

import type { ErrorObject } from 'ajv'
import type { ProblemPointer } from '../../foundation/domain/problem.ts'

export interface ValidationFailure {
  readonly code: 'payload_invalid' | 'payload_too_large' | 'media_type_unsupported'
  readonly detail: string
  readonly errors: readonly ProblemPointer[]
}

const ERRORS_MAX = 20
/** The client chooses the names that a pointer consists of. */
const POINTER_LENGTH_MAX = 200
const ALLOWED_MAX = 20

export function invalid(detail: string, errors: readonly ProblemPointer[] = []): ValidationFailure {
  return { code: 'payload_invalid', detail, errors: errors.slice(0, ERRORS_MAX) }
}

export function unsupported(detail: string): ValidationFailure {
  return { code: 'media_type_unsupported', detail, errors: [] }
}

export function toPointers(errors: readonly ErrorObject[], root = ''): ProblemPointer[] {
  return errors.slice(0, ERRORS_MAX).map((error) => ({
    pointer: `${root}${error.instancePath}`.slice(0, POINTER_LENGTH_MAX),
    detail: describe(error),
  }))
}

function describe({ keyword, message, params }: ErrorObject): string {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties')
    return 'has a member that is not declared'
  if (keyword === 'unevaluatedItems') return 'has an item that is not declared'
  const values: unknown = (params as Readonly<Record<string, unknown>>)['allowedValues']
  if (!Array.isArray(values)) return message ?? `violates ${keyword}`
  return `must be one of ${values.slice(0, ALLOWED_MAX).map(String).join(', ')}${values.length > ALLOWED_MAX ? ', …' : ''}`
}

/** Parsers differ in the one that they use. */
export const REPEATED_CONTENT_TYPE: ValidationFailure = {
  code: 'payload_invalid',
  detail: 'The request repeats Content-Type; send it at most once.',
  errors: [],
}
