/**
 * Tries again to serve what this node withholds since its start or since a change of its own, as it does after changes of other nodes.
 *
 * One API at a time and seldom, because each attempt may take as much work as the first. An attempt makes this node serve what the
 * registry has then, so that a change in between needs nothing more. An attempt that fails changes nothing.
 */

import { exponentialDelayMs } from '../../foundation/runtime/backoff.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

export interface WithheldRetriesOptions {
  /** Serves what the registry has for an API; throws if this node cannot. */
  readonly retry: (api: string) => Promise<unknown>
  readonly clock: Pick<Clock, 'after'>
  readonly onServed: (api: string) => void
  readonly onFailed: (api: string, cause: unknown) => void
}

export interface WithheldRetries {
  /** Something of the API is withheld. */
  add(api: string): void
  /** Begins with the attempts. */
  start(): void
  /** Resolves when no attempt runs. */
  stop(): Promise<void>
}

const RETRY = { firstMs: 5_000, maxMs: 600_000 }

export function createWithheldRetries(options: WithheldRetriesOptions): WithheldRetries {
  return new Retries(options)
}

class Retries implements WithheldRetries {
  readonly #options: WithheldRetriesOptions
  /** Cancels the next attempt, by API; null: it is not planned yet, or runs. */
  readonly #planned = new Map<string, (() => void) | null>()
  #state: 'waiting' | 'running' | 'stopped' = 'waiting'
  /** Settles after the last attempt; never rejects. */
  #last: Promise<void> = Promise.resolve()

  constructor(options: WithheldRetriesOptions) {
    this.#options = options
  }

  add(api: string): void {
    if (this.#planned.has(api)) return
    this.#planned.set(api, null)
    if (this.#state === 'running') this.#plan(api, 1)
  }

  start(): void {
    this.#state = 'running'
    for (const api of this.#planned.keys()) this.#plan(api, 1)
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    for (const cancel of this.#planned.values()) cancel?.()
    await this.#last
  }

  #plan(api: string, attempt: number): void {
    const cancel = this.#options.clock.after(exponentialDelayMs(attempt, RETRY), () => {
      this.#planned.set(api, null)
      this.#last = this.#last.then(() => this.#attempt(api, attempt))
    })
    this.#planned.set(api, cancel)
  }

  async #attempt(api: string, attempt: number): Promise<void> {
    if (this.#state === 'stopped') return
    const { retry, onServed, onFailed } = this.#options
    try {
      await retry(api)
      this.#planned.delete(api)
      onServed(api)
    } catch (cause) {
      onFailed(api, cause)
      if (this.#isRunning()) this.#plan(api, attempt + 1)
    }
  }

  #isRunning(): boolean {
    return this.#state === 'running'
  }
}
