/**
 * Lints documents on a worker thread, so that the main thread stays responsive.
 *
 * Each document has a deadline, and the thread has a memory limit. A document that exceeds either terminates the thread; a new
 * thread serves the rest of the queue.
 */

import { Worker } from 'node:worker_threads'
import { Problem, type ProblemPointer } from '../../domain/problem.ts'
import type { Clock } from '../../runtime/clock.ts'
import { FINDINGS_MAX } from '../finding.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../ruleset-document.ts'
import type { LintOutcome, LintReport, LintRequest, LintResponse } from './lint-messages.ts'
import { createLintQueue, type LintJob } from './lint-queue.ts'

export type { LintReport } from './lint-messages.ts'

export interface Linter {
  /** Throws `Problem('unavailable')` if the queue is full, `Problem('specification_invalid')` beyond the deadline or memory limit. */
  lint(
    specification: Uint8Array,
    previous?: Uint8Array | null,
    ruleset?: RulesetDocument,
    tenant?: string,
    deadlineMs?: number,
  ): Promise<LintReport>
  /** Returns the faults of a ruleset. Throws like `lint`. */
  checkRuleset(ruleset: RulesetDocument, tenant?: string): Promise<readonly ProblemPointer[]>
  close(): Promise<void>
}

export interface LinterOptions {
  readonly clock: Clock
  readonly log: { error(fields: object, message: string): void }
  readonly deadlineMs?: number
  /** A cap on the findings of a report; the rest is counted. */
  readonly findingsMax?: number
}

/** A last resort: the work is bounded by what is visited, which takes some 10 s at most on an idle machine. */
const DEADLINE_MS = 60_000
const MEMORY_MB = 512
const TEXT_MAX = 1_000
const IDLE_MS = 60_000

type SubmitLint = (
  request: Omit<LintRequest, 'id'>,
  tenant: string | undefined,
  deadlineMs?: number,
) => Promise<LintOutcome>

export function createLinter(options: LinterOptions): Linter {
  const { findingsMax = FINDINGS_MAX } = options
  const { submit, close } = createLintThread(options)

  return {
    async lint(specification, previous = null, ruleset = EMPTY_RULESET, tenant, deadlineMs) {
      const outcome = await submit({ specification, previous, ruleset, findingsMax }, tenant, deadlineMs)
      if (!('report' in outcome)) throw new Error('the lint thread answered a document with the faults of a ruleset')
      return outcome.report
    },
    async checkRuleset(ruleset, tenant) {
      const outcome = await submit({ specification: null, previous: null, ruleset, findingsMax }, tenant)
      if (!('faults' in outcome)) throw new Error('the lint thread answered a ruleset with a report')
      return outcome.faults
    },
    close,
  }
}

/** Runs queued jobs one at a time on a thread that is started on demand and terminated when idle. */
// oxlint-disable-next-line max-lines-per-function -- one state machine: each function changes the current job or the thread
function createLintThread({ clock, log, deadlineMs: defaultMs = DEADLINE_MS }: LinterOptions): {
  readonly submit: SubmitLint
  readonly close: () => Promise<void>
} {
  const queue = createLintQueue()
  let current: LintJob | null = null
  /** Cancels the deadline of the current job, or the idle timer. */
  let cancelTimer = (): void => {}
  let worker: Worker | null = null
  let isClosed = false
  let lastId = 0

  function onResponse(response: LintResponse): void {
    if (response.id !== current?.id) return
    if ('partial' in response) current.partial = response.partial
    else if (!('failure' in response)) finish(({ resolve }) => resolve(response))
    else {
      log.error(
        { failure: response.failure },
        'document could not be linted; its request fails unless results without the Spectral rules exist',
      )
      finish((job) => resolvePartially(job, new Error(response.failure), log))
    }
  }

  function finish(settle: (job: LintJob) => void): void {
    cancelTimer()
    const job = current
    current = null
    if (job !== null) settle(job)
    runNext()
  }

  function abort(reason: string): void {
    stopThread()
    const problem = new Problem('specification_invalid', reason, { errors: [{ pointer: '', detail: reason }] })
    finish((job) => resolvePartially(job, problem, log))
  }

  /** Terminates the thread, whose modules take some 50 MB. */
  function stopThread(): void {
    void worker?.terminate()
    worker = null
  }

  function startThread(): Worker {
    const started = startWorker(log)
    started.on('message', onResponse)
    started.on('error', () => {
      // Ignores errors of a thread that was terminated before.
      if (started === worker) abort('Linting the document needs more memory than the limit allows.')
    })
    return started
  }

  function runNext(): void {
    if (current !== null || isClosed) return
    cancelTimer()
    const job = queue.next()
    if (job === undefined) {
      cancelTimer = clock.after(IDLE_MS, stopThread)
      return
    }
    current = job
    worker ??= startThread()
    const { id, specification, previous, ruleset, findingsMax, deadlineMs } = job
    cancelTimer = clock.after(deadlineMs, () =>
      abort(`Linting the document takes longer than ${deadlineMs / 1_000} s.`),
    )
    worker.postMessage({ id, specification, previous, ruleset, findingsMax } satisfies LintRequest)
  }

  return {
    submit(request, tenant, deadlineMs = defaultMs) {
      if (isClosed || queue.isFull(tenant)) {
        return Promise.reject(new Problem('unavailable', 'Too many documents are queued for linting. Retry shortly.'))
      }
      return new Promise((resolve, reject) => {
        queue.push({ id: ++lastId, ...request, tenant, deadlineMs, resolve, reject, partial: null })
        runNext()
      })
    },
    async close() {
      isClosed = true
      const stopped = new Problem('unavailable', 'The service is stopping.')
      for (const { reject } of queue.clear()) reject(stopped)
      finish(({ reject }) => reject(stopped))
      await worker?.terminate()
    },
  }
}

function startWorker(log: LinterOptions['log']): Worker {
  const worker = new Worker(new URL('./lint-thread.ts', import.meta.url), {
    name: 'lint',
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    stdout: true,
    stderr: true,
  })
  // Libraries write to these streams and may quote a document; the log escapes line breaks.
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.on('data', (text: Buffer) =>
      log.error({ text: text.toString().slice(0, TEXT_MAX) }, 'output of the lint thread'),
    )
  }
  worker.unref()
  return worker
}

/** Resolves with the report without the Spectral rules if there is one; otherwise rejects. */
function resolvePartially({ id, partial, resolve, reject }: LintJob, cause: Error, log: LinterOptions['log']): void {
  if (partial === null) return reject(cause)
  log.error({ err: cause }, 'Spectral rules and custom rules were aborted; the result covers the other rules only')
  resolve({ id, report: partial })
}
