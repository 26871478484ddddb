/**
 * Judges documents in a thread of their own, so that the service keeps serving while it looks.
 *
 * Each document has a deadline and the thread a bound of memory: one that exceeds either ends the thread,
 * and another takes its place for those that wait. Bounded: more that wait are refused.
 */

import { Worker } from 'node:worker_threads'
import { Problem } from '../../domain/problem.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Change } from '../compare/change.ts'
import type { Severities } from './finding.ts'
import type { LintResult } from './lint.ts'

export interface Judgement extends LintResult {
  /** Against the previous version, where one was given; what breaks comes first. */
  readonly changes: readonly Change[]
}

export interface Linter {
  /** Throws `Problem('unavailable')` beyond the bound, `Problem('specification_invalid')` where it takes too much. */
  judge(specification: Uint8Array, previous?: Uint8Array | null, severities?: Severities): Promise<Judgement>
  close(): Promise<void>
}

export interface LintQuestion {
  readonly id: number
  readonly specification: Uint8Array
  readonly previous: Uint8Array | null
  readonly severities: Severities
}

export type LintAnswer =
  { readonly id: number; readonly judgement: Judgement } | { readonly id: number; readonly failure: string }

export interface LinterOptions {
  readonly clock: Clock
  readonly log: { error(fields: object, message: string): void }
  readonly deadlineMs?: number
}

interface Waiting extends LintQuestion {
  readonly resolve: (judgement: Judgement) => void
  readonly reject: (cause: Error) => void
}

const DEADLINE_MS = 5_000
const MEMORY_MB = 512
const WAITING_MAX = 32

export function createLinter({ clock, log, deadlineMs = DEADLINE_MS }: LinterOptions): Linter {
  const waiting: Waiting[] = []
  let current: Waiting | null = null
  let cancel = (): void => {}
  let worker: Worker | null = null
  let isClosed = false
  let lastId = 0

  function start(): Worker {
    const started = new Worker(new URL('./lint-thread.ts', import.meta.url), {
      name: 'lint',
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    })
    started.on('message', (answer: LintAnswer) => {
      if (answer.id !== current?.id) return
      if ('judgement' in answer) settle(({ resolve }) => resolve(answer.judgement))
      else {
        log.error({ failure: answer.failure }, 'a document could not be judged')
        settle(({ reject }) => reject(new Error(answer.failure)))
      }
    })
    started.on('error', () => {
      // Of a thread that was given up already nothing more is heard.
      if (started === worker) giveUp('It takes more memory to judge than is granted.')
    })
    started.unref()
    return started
  }

  function settle(tell: (one: Waiting) => void): void {
    cancel()
    const one = current
    current = null
    if (one !== null) tell(one)
    next()
  }

  function giveUp(why: string): void {
    void worker?.terminate()
    worker = null
    settle(({ reject }) =>
      reject(new Problem('specification_invalid', why, { errors: [{ pointer: '', detail: why }] })),
    )
  }

  function next(): void {
    const one = current === null && !isClosed ? waiting.shift() : undefined
    if (one === undefined) return
    current = one
    worker ??= start()
    cancel = clock.after(deadlineMs, () => giveUp(`It takes longer than ${deadlineMs / 1_000} s to judge.`))
    const { id, specification, previous, severities } = one
    worker.postMessage({ id, specification, previous, severities } satisfies LintQuestion)
  }

  return {
    judge(specification, previous = null, severities = {}) {
      if (isClosed || waiting.length >= WAITING_MAX) {
        return Promise.reject(new Problem('unavailable', 'Too many documents wait to be judged; come back shortly.'))
      }
      return new Promise((resolve, reject) => {
        waiting.push({ id: ++lastId, specification, previous, severities, resolve, reject })
        next()
      })
    },
    async close() {
      isClosed = true
      const stopped = new Problem('unavailable', 'The service is stopping.')
      for (const { reject } of waiting.splice(0)) reject(stopped)
      settle(({ reject }) => reject(stopped))
      await worker?.terminate()
    },
  }
}
