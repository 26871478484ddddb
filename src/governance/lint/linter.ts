/**
 * Lints documents on a worker thread, so that the main thread stays responsive.
 *
 * Each document has a deadline, and the thread has a memory limit. A document that exceeds either terminates the thread; a new
 * thread serves the rest of the queue. The queue is bounded in total and per tenant, and tenants take turns.
 */

import { Worker } from 'node:worker_threads'
import { Problem, type ProblemPointer } from '../../domain/problem.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Change } from '../compare/change.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../ruleset-document.ts'
import type { LintResult } from './lint.ts'

export interface Judgement extends LintResult {
  /** Changes since the previous version, if one was given; breaking changes first. */
  readonly changes: readonly Change[]
}

export interface Linter {
  /** Throws `Problem('unavailable')` if the queue is full, `Problem('specification_invalid')` beyond the deadline or memory limit. */
  judge(
    specification: Uint8Array,
    previous?: Uint8Array | null,
    ruleset?: RulesetDocument,
    tenant?: string,
    deadlineMs?: number,
  ): Promise<Judgement>
  /** Returns the faults of a ruleset. Throws like `judge`. */
  vet(ruleset: RulesetDocument, tenant?: string): Promise<readonly ProblemPointer[]>
  close(): Promise<void>
}

export interface LintQuestion {
  readonly id: number
  /** Null: checks the ruleset only. */
  readonly specification: Uint8Array | null
  readonly previous: Uint8Array | null
  readonly ruleset: RulesetDocument
}

export type LintAnswer =
  /** The result that holds if the Spectral rules do not finish in time. */
  | { readonly id: number; readonly soFar: Judgement }
  | { readonly id: number; readonly judgement: Judgement }
  | { readonly id: number; readonly faults: readonly ProblemPointer[] }
  | { readonly id: number; readonly failure: string }

type Outcome = Extract<LintAnswer, { readonly judgement: Judgement } | { readonly faults: unknown }>

export interface LinterOptions {
  readonly clock: Clock
  readonly log: { error(fields: object, message: string): void }
  readonly deadlineMs?: number
}

interface Waiting extends LintQuestion {
  readonly tenant: string | undefined
  readonly deadlineMs: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (cause: Error) => void
  soFar: Judgement | null
}

const DEADLINE_MS = 5_000
const MEMORY_MB = 512
const TEXT_MAX = 1_000
const IDLE_MS = 60_000
const WAITING_MAX = 32
const WAITING_OF_TENANT_MAX = 16

export function createLinter({ clock, log, deadlineMs: usualMs = DEADLINE_MS }: LinterOptions): Linter {
  const waiting: Waiting[] = []
  let current: Waiting | null = null
  let cancel = (): void => {}
  let worker: Worker | null = null
  let isClosed = false
  let lastId = 0
  let lastTenant: string | undefined

  function start(): Worker {
    const started = new Worker(new URL('./lint-thread.ts', import.meta.url), {
      name: 'lint',
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
      stdout: true,
      stderr: true,
    })
    // Libraries write to these streams and may quote a document; the log escapes line breaks.
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (text: Buffer) =>
        log.error({ text: text.toString().slice(0, TEXT_MAX) }, 'output of the lint thread'),
      )
    }
    started.on('message', (answer: LintAnswer) => {
      if (answer.id !== current?.id) return
      if ('soFar' in answer) current.soFar = answer.soFar
      else if (!('failure' in answer)) settle(({ resolve }) => resolve(answer))
      else {
        log.error(
          { failure: answer.failure },
          'document could not be linted; its request fails unless results without the Spectral rules exist',
        )
        settle((one) => standOrReject(one, new Error(answer.failure)))
      }
    })
    started.on('error', () => {
      // Ignores errors of a thread that was terminated before.
      if (started === worker) giveUp('Linting the document needs more memory than the limit allows.')
    })
    started.unref()
    return started
  }

  function settle(finish: (one: Waiting) => void): void {
    cancel()
    const one = current
    current = null
    if (one !== null) finish(one)
    next()
  }

  function giveUp(why: string): void {
    stopThread()
    const refusal = new Problem('specification_invalid', why, { errors: [{ pointer: '', detail: why }] })
    settle((one) => standOrReject(one, refusal))
  }

  /** Terminates the thread, whose modules take some 50 MB. */
  function stopThread(): void {
    void worker?.terminate()
    worker = null
  }

  function standOrReject({ id, soFar, resolve, reject }: Waiting, cause: Error): void {
    if (soFar === null) return reject(cause)
    log.error({ err: cause }, 'Spectral rules and custom rules were aborted; the result covers the other rules only')
    resolve({ id, judgement: soFar })
  }

  function next(): void {
    if (current !== null || isClosed) return
    cancel()
    const other = waiting.findIndex(({ tenant }) => tenant !== lastTenant)
    const [one] = waiting.splice(Math.max(0, other), 1)
    if (one === undefined) {
      cancel = clock.after(IDLE_MS, stopThread)
      return
    }
    current = one
    lastTenant = one.tenant
    worker ??= start()
    const { id, specification, previous, ruleset, deadlineMs } = one
    cancel = clock.after(deadlineMs, () => giveUp(`Linting the document takes longer than ${deadlineMs / 1_000} s.`))
    worker.postMessage({ id, specification, previous, ruleset } satisfies LintQuestion)
  }

  function ask(question: Omit<LintQuestion, 'id'>, tenant: string | undefined, deadlineMs = usualMs): Promise<Outcome> {
    const ofTenant = tenant === undefined ? 0 : waiting.filter((one) => one.tenant === tenant).length
    if (isClosed || waiting.length >= WAITING_MAX || ofTenant >= WAITING_OF_TENANT_MAX) {
      return Promise.reject(new Problem('unavailable', 'Too many documents are queued for linting. Retry shortly.'))
    }
    return new Promise((resolve, reject) => {
      waiting.push({ id: ++lastId, ...question, tenant, deadlineMs, resolve, reject, soFar: null })
      next()
    })
  }

  return {
    async judge(specification, previous = null, ruleset = EMPTY_RULESET, tenant, deadlineMs) {
      const outcome = await ask({ specification, previous, ruleset }, tenant, deadlineMs)
      if (!('judgement' in outcome)) throw new Error('a document was answered as a ruleset')
      return outcome.judgement
    },
    async vet(ruleset, tenant) {
      const outcome = await ask({ specification: null, previous: null, ruleset }, tenant)
      if (!('faults' in outcome)) throw new Error('a ruleset was answered as a document')
      return outcome.faults
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
