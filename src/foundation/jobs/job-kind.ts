/** The kinds of jobs that threads execute, and the messages between the main thread and a thread. */

import type { ProblemCode, ProblemPointer } from '../domain/problem.ts'

declare const TYPES: unique symbol

/** The name of a kind of job, with the types of its request and its answer; both are cloned between threads. */
export type JobKind<Request, Answer> = string & { readonly [TYPES]: (request: Request) => Answer }

export function jobKind<Request, Answer>(name: string): JobKind<Request, Answer> {
  return name as JobKind<Request, Answer>
}

export interface JobMessage {
  readonly id: number
  readonly kind: string
  readonly request: unknown
}

export type ThreadMessage =
  | { readonly id: number; readonly answer: unknown }
  /** The answer that holds if the job is aborted. */
  | { readonly id: number; readonly partial: unknown }
  | { readonly id: number; readonly problem: ProblemMessage }
  | { readonly id: number; readonly failure: string }

/** A problem between threads: a clone of an error has no code. */
export interface ProblemMessage {
  readonly code: ProblemCode
  readonly detail: string
  readonly errors: readonly ProblemPointer[]
  readonly extensions: Readonly<Record<string, unknown>>
}
