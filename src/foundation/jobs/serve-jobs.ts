/** The side of a thread: executes one job at a time and replies with its id. */

import { parentPort } from 'node:worker_threads'
import { Problem } from '../domain/problem.ts'
import type { JobKind, JobMessage, ThreadMessage } from './job-kind.ts'

/** Executes a job; `onPartial` sends an answer that holds if the job is aborted. */
export type JobWork<Request, Answer> = (request: Request, onPartial: (answer: Answer) => void) => Promise<Answer>

interface Handler {
  readonly kind: string
  readonly work: JobWork<unknown, unknown>
}

export function handles<Request, Answer>(kind: JobKind<Request, Answer>, work: JobWork<Request, Answer>): Handler {
  return { kind, work: work as JobWork<unknown, unknown> }
}

export function serveJobs(handlers: readonly Handler[]): void {
  const works = new Map(handlers.map(({ kind, work }) => [kind, work]))
  const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

  parentPort?.on('message', ({ id, kind, request }: JobMessage) => {
    const work = works.get(kind)
    if (work === undefined) return send({ id, failure: `this thread does not execute ${kind}` })
    void work(request, (partial) => send({ id, partial })).then(
      (answer) => send({ id, answer }),
      (cause: unknown) => send(cause instanceof Problem ? toProblem(id, cause) : { id, failure: String(cause) }),
    )
  })
}

function toProblem(id: number, { code, message: detail, errors, extensions }: Problem): ThreadMessage {
  return { id, problem: { code, detail, errors, extensions } }
}
