/**
 * The main thread's link to one gateway thread.
 *
 * Starts the worker, posts commands and settles each one when the thread acknowledges it, and handles the messages and requests
 * of the thread.
 */

import { Worker } from 'node:worker_threads'
import { toCompileProblem } from '../messages/command-error.ts'
import type { Command, CommandError, Requests, ThreadSettings, ToMainThread, ToWorker } from '../messages/messages.ts'
import type { GatewayPoolOptions } from './gateway-pool-options.ts'

const ACKNOWLEDGE_WITHIN_MS = 120_000
const SPOOL_GROWTH_DEBOUNCE_MS = 10
const YOUNG_GENERATION_MB = 64

export interface GatewayWorkerEvents {
  onListening(port: number): void
  onExit(worker: GatewayWorker, code: number): void
}

export class GatewayWorker {
  readonly index: number
  /** True once the thread is up to date and listens; only then does it receive broadcast commands. */
  isReady = false

  readonly #options: GatewayPoolOptions
  readonly #events: GatewayWorkerEvents
  readonly #worker: Worker
  /** Settles the commands that the thread has not acknowledged yet, by id. */
  readonly #pending = new Map<number, (error: CommandError | null) => void>()
  readonly #loaded = Promise.withResolvers<void>()
  readonly #spoolGrownFlag: Int32Array
  readonly #inFlight: Int32Array

  constructor(index: number, options: GatewayPoolOptions, events: GatewayWorkerEvents) {
    this.index = index
    this.#options = options
    this.#events = events
    const spoolGrownFlag = new SharedArrayBuffer(4)
    const inFlight = new SharedArrayBuffer(4)
    this.#spoolGrownFlag = new Int32Array(spoolGrownFlag)
    this.#inFlight = new Int32Array(inFlight)
    const { threads, settings, entry, log } = options
    const workerData: ThreadSettings = { ...settings, thread: index, threads, spoolGrownFlag, inFlight }
    this.#worker = new Worker(entry, {
      workerData,
      name: `gateway-${index}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    this.#worker.on('message', (message: ToMainThread) => this.#onMessage(message))
    this.#worker.on('error', (cause) => {
      log.error({ err: cause, thread: index }, 'gateway thread failed with an uncaught error and ends')
      this.#loaded.reject(cause)
    })
    this.#worker.on('exit', (code) => this.#onExit(code))
  }

  /** Resolves when the thread accepts commands; rejects if it ends before that. */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  /** Number of calls of this thread without a record. */
  get callsInFlight(): number {
    return this.#inFlight[0]!
  }

  /** Sends a command; resolves when it is acknowledged, when the thread ends, or with an error after the time limit. */
  post(id: number, command: Command): Promise<CommandError | null> {
    const { promise, resolve } = Promise.withResolvers<CommandError | null>()
    const cancel = this.#options.clock.after(ACKNOWLEDGE_WITHIN_MS, () =>
      resolve({ detail: `A gateway thread did not acknowledge ${command.type} in time.`, errors: [] }),
    )
    this.#pending.set(id, (error) => {
      cancel()
      resolve(error)
    })
    this.#send({ type: 'command', id, command })
    return promise
  }

  terminate(): Promise<number> {
    return this.#worker.terminate()
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  #onMessage(message: ToMainThread): void {
    const { onWithheld, onDrift, onUpstream, onUsed, onCount, onDamage, log } = this.#options
    switch (message.type) {
      case 'loaded':
        return this.#loaded.resolve()
      case 'listening':
        return this.#events.onListening(message.port)
      case 'acknowledged':
        return this.#acknowledge(message.id, message.error)
      case 'request':
        return void this.#respond(message.id, message.name, message.parameters)
      case 'spoolGrown':
        return this.#onSpoolGrown()
      case 'withheld':
        return onWithheld(message.api, toCompileProblem(message.error))
      case 'drift':
        return onDrift(message.drift)
      case 'upstream':
        return onUpstream(message.reports)
      case 'used':
        return onUsed(message.credentials, message.minute)
      case 'counted':
        return message.counts.forEach(([reason, by]) => onCount(reason, by))
      case 'damage':
        return onDamage(message.damage)
      case 'log':
        return log[message.level]({ thread: this.index, detail: message.detail }, message.message)
      default:
        message satisfies never
    }
  }

  #acknowledge(id: number, error: CommandError | null): void {
    this.#pending.get(id)?.(error)
    this.#pending.delete(id)
  }

  async #respond(id: number, name: keyof Requests, parameters: unknown): Promise<void> {
    const { handlers, log } = this.#options
    try {
      const value = await (handlers[name] as (parameters: unknown) => Promise<unknown>)(parameters)
      this.#send({ type: 'response', id, value })
    } catch (cause) {
      log.error({ err: cause, name }, 'request of a gateway thread failed on the main thread; its call gets 503')
      this.#send({ type: 'failed', id, reason: `${name} failed` })
    }
  }

  /**
   * Debounces: clears the flag only after a pause, so that the thread sends one message per pause (measured: 1.3 µs less per
   * call), and notifies again then for what was written meanwhile.
   */
  #onSpoolGrown(): void {
    const { clock, onSpoolGrowth } = this.#options
    onSpoolGrowth()
    clock.after(SPOOL_GROWTH_DEBOUNCE_MS, () => {
      Atomics.store(this.#spoolGrownFlag, 0, 0)
      onSpoolGrowth()
    })
  }

  #onExit(code: number): void {
    this.#loaded.reject(new Error(`gateway thread ${this.index} ended with code ${code}`))
    for (const settle of this.#pending.values()) settle(null)
    this.#pending.clear()
    this.#events.onExit(this, code)
  }
}
