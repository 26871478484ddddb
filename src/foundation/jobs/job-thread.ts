/** One thread of a pool: started on demand, replaced after an abort, ended when idle. */

import { Worker } from 'node:worker_threads'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JobMessage, ThreadMessage } from './job-kind.ts'

export interface Job extends JobMessage {
  readonly tenant: string | undefined
  readonly deadlineMs: number
  readonly moved: readonly ArrayBuffer[]
  readonly resolve: (answer: unknown) => void
  readonly reject: (cause: Error) => void
  /** The answer that holds if the job is aborted, once the thread has sent it. */
  partial: { readonly answer: unknown } | null
}

export interface JobThreadOptions {
  /** The module that the thread executes; it calls `serveJobs`. */
  readonly entry: URL
  readonly clock: Clock
  readonly log: { error(fields: object, message: string): void }
  /** Default: 512. */
  readonly memoryMb?: number
}

const MEMORY_MB = 512
const TEXT_MAX = 1_000
/** A new thread takes about a second to load its modules, so it stays for the next document of a build or of an author. */
const IDLE_MS = 20_000

export class JobThread {
  readonly #options: JobThreadOptions
  readonly #onEnd: (job: Job) => void
  #worker: Worker | null = null
  #job: Job | null = null
  /** Cancels the deadline of the job, or the idle timer. */
  #cancelTimer = (): void => {}

  /** `onEnd` is called when a job has been settled; it may give the next one to `run`. */
  constructor(options: JobThreadOptions, onEnd: (job: Job) => void) {
    this.#options = options
    this.#onEnd = onEnd
  }

  get isIdle(): boolean {
    return this.#job === null
  }

  get isStarted(): boolean {
    return this.#worker !== null
  }

  run(job: Job): void {
    const { id, kind, request, deadlineMs, moved } = job
    this.#cancelTimer()
    this.#job = job
    this.#worker ??= this.#start()
    this.#cancelTimer = this.#options.clock.after(deadlineMs, () =>
      this.#abort(`Processing the document takes longer than ${deadlineMs / 1_000} s.`),
    )
    this.#worker.postMessage({ id, kind, request } satisfies JobMessage, [...moved])
  }

  /** Ends the thread and rejects its job. */
  async close(cause: Error): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    this.#end(({ reject }) => reject(cause))
    this.#cancelTimer()
    await worker?.terminate()
  }

  #start(): Worker {
    const { entry, log, memoryMb = MEMORY_MB } = this.#options
    const worker = new Worker(entry, {
      name: 'document',
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      stdout: true,
      stderr: true,
    })
    // Libraries write to these streams and may quote a document; the log escapes line breaks.
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.on('data', (text: Buffer) =>
        log.error({ text: text.toString().slice(0, TEXT_MAX) }, 'output of a document thread'),
      )
    }
    worker.unref()
    worker.on('message', (message: ThreadMessage) => this.#onMessage(message))
    // Ignores a thread that was terminated before.
    worker.on('error', () => {
      if (worker === this.#worker) this.#abort('Processing the document needs more memory than the limit allows.')
    })
    worker.on('exit', () => {
      if (worker === this.#worker) this.#abort('The thread that processed the document has ended.')
    })
    return worker
  }

  #onMessage(message: ThreadMessage): void {
    if (message.id !== this.#job?.id) return
    if ('partial' in message) this.#job.partial = { answer: message.partial }
    else if ('answer' in message) this.#end(({ resolve }) => resolve(message.answer))
    else if ('problem' in message) {
      const problem = Problem.restore(message.problem)
      this.#end(({ reject }) => reject(problem))
    } else {
      const { kind } = this.#job
      this.#options.log.error({ kind, failure: message.failure }, 'document could not be processed')
      this.#end((job) => this.#settleAborted(job, new Error(message.failure)))
    }
  }

  #abort(reason: string): void {
    this.#terminate()
    const problem = new Problem('specification_invalid', reason, { errors: [{ pointer: '', detail: reason }] })
    this.#end((job) => this.#settleAborted(job, problem))
  }

  /** Resolves with the partial answer if there is one; otherwise rejects. */
  #settleAborted({ kind, partial, resolve, reject }: Job, cause: Error): void {
    if (partial === null) return reject(cause)
    this.#options.log.error({ kind, err: cause }, 'processing of a document was aborted; its result is partial')
    resolve(partial.answer)
  }

  #end(settle: (job: Job) => void): void {
    this.#cancelTimer()
    const job = this.#job
    this.#job = null
    this.#cancelTimer = this.#worker === null ? () => {} : this.#options.clock.after(IDLE_MS, () => this.#terminate())
    if (job === null) return
    settle(job)
    this.#onEnd(job)
  }

  /** An idle thread would keep some 110 MB. */
  #terminate(): void {
    void this.#worker?.terminate()
    this.#worker = null
  }
}
