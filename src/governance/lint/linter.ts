/**
 * Judges documents in a thread of their own, so that the service keeps serving while it looks.
 *
 * Each document has a deadline and the thread a bound of memory: one that exceeds either ends the thread,
 * and another takes its place for those that wait. Bounded, as a whole and by tenant: more that wait are
 * refused, and no tenant waits for all that another has sent.
 */

import { Worker } from 'node:worker_threads'
import { Problem, type ProblemPointer } from '../../domain/problem.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Change } from '../compare/change.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../ruleset-document.ts'
import type { LintResult } from './lint.ts'

export interface Judgement extends LintResult {
  /** Against the previous version, where one was given; what breaks comes first. */
  readonly changes: readonly Change[]
}

export interface Linter {
  /** Throws `Problem('unavailable')` beyond the bound, `Problem('specification_invalid')` where it takes too much. */
  judge(
    specification: Uint8Array,
    previous?: Uint8Array | null,
    ruleset?: RulesetDocument,
    tenant?: string,
    deadlineMs?: number,
  ): Promise<Judgement>
  /** What keeps a ruleset from being used; empty: nothing. Throws as `judge` does. */
  vet(ruleset: RulesetDocument, tenant?: string): Promise<readonly ProblemPointer[]>
  close(): Promise<void>
}

export interface LintQuestion {
  readonly id: number
  /** Null: it is about the ruleset alone. */
  readonly specification: Uint8Array | null
  readonly previous: Uint8Array | null
  readonly ruleset: RulesetDocument
}

export type LintAnswer =
  /** What stands where the rest is not finished in time. */
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
    // Libraries write there, and may quote a document: into the log, which keeps texts within their lines.
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (text: Buffer) =>
        log.error({ text: text.toString().slice(0, TEXT_MAX) }, 'the lint thread says'),
      )
    }
    started.on('message', (answer: LintAnswer) => {
      if (answer.id !== current?.id) return
      if ('soFar' in answer) current.soFar = answer.soFar
      else if (!('failure' in answer)) settle(({ resolve }) => resolve(answer))
      else {
        log.error({ failure: answer.failure }, 'a document could not be judged')
        settle((one) => standOrReject(one, new Error(answer.failure)))
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
    rest()
    const refusal = new Problem('specification_invalid', why, { errors: [{ pointer: '', detail: why }] })
    settle((one) => standOrReject(one, refusal))
  }

  /** What it has loaded is worth some fifty megabytes. */
  function rest(): void {
    void worker?.terminate()
    worker = null
  }

  function standOrReject({ id, soFar, resolve, reject }: Waiting, cause: Error): void {
    if (soFar === null) return reject(cause)
    log.error({ err: cause }, 'rules of Spectral or of a tenant were given up; the document is judged without them')
    resolve({ id, judgement: soFar })
  }

  function next(): void {
    if (current !== null || isClosed) return
    cancel()
    const other = waiting.findIndex(({ tenant }) => tenant !== lastTenant)
    const [one] = waiting.splice(Math.max(0, other), 1)
    if (one === undefined) {
      cancel = clock.after(IDLE_MS, rest)
      return
    }
    current = one
    lastTenant = one.tenant
    worker ??= start()
    const { id, specification, previous, ruleset, deadlineMs } = one
    cancel = clock.after(deadlineMs, () => giveUp(`It takes longer than ${deadlineMs / 1_000} s to judge.`))
    worker.postMessage({ id, specification, previous, ruleset } satisfies LintQuestion)
  }

  function ask(question: Omit<LintQuestion, 'id'>, tenant: string | undefined, deadlineMs = usualMs): Promise<Outcome> {
    const ofTenant = tenant === undefined ? 0 : waiting.filter((one) => one.tenant === tenant).length
    if (isClosed || waiting.length >= WAITING_MAX || ofTenant >= WAITING_OF_TENANT_MAX) {
      return Promise.reject(new Problem('unavailable', 'Too many documents wait to be judged; come back shortly.'))
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
