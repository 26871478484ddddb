/**
 * Keeps the copy of the registry on the disk of a node up to date, so that the node can start while the registry is away.
 *
 * The copy follows the change feed, at most once a second and off the path of commands: an acknowledgement does not wait for it. But it
 * is noted before which change the node is about to acknowledge, so that a copy without that is not used: a node that is killed in
 * between does not start without the registry. A failed update leaves the copy as it was.
 */

import { exponentialDelayMs } from '../../foundation/runtime/backoff.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Registry } from '../store/registry.ts'
import type { RegistryCopy, RegistrySnapshots } from '../store/registry-copy.ts'

export interface KeepCopyOptions {
  readonly copy: Pick<RegistryCopy, 'mark' | 'update' | 'expect'>
  readonly registry: Pick<Registry, 'watch'>
  readonly snapshots: Pick<RegistrySnapshots, 'read'>
  /** Kinds of documents that no call needs. */
  readonly except: readonly string[]
  /** Kinds of documents whose changes the node acknowledges once they are in effect. */
  readonly effective: ReadonlySet<string>
  readonly clock: Pick<Clock, 'after'>
  /** The copy could not be updated; that is repeated. */
  readonly onFailed: (cause: unknown) => void
}

/** Lets the changes of one command arrive together. */
const COALESCE_MS = 100
const PAUSE_MS = 1_000
const RETRY = { firstMs: 1_000, maxMs: 60_000 }

export interface CopyKeeper {
  /** Updates the copy from now on. */
  begin(): void
  /** Number of changes that the copy lacks; 1 or more until the first update. */
  readonly lag: number
  /** Waits for the update in progress. */
  stop(): Promise<void>
}

/**
 * Follows the changes after `position`, and writes what the copy lacks before. Must be called before the node acknowledges any of them;
 * `begin` can wait until the node serves, because the first update of a large registry takes seconds.
 */
export function keepCopy(options: KeepCopyOptions, position: number): CopyKeeper {
  const { copy, registry, except, effective } = options
  const keeper = new Keeper(options)
  copy.expect(position)
  const unwatch = registry.watch(position, ({ position: changedAt, document: { kind } }) => {
    if (effective.has(kind)) copy.expect(changedAt)
    if (!except.includes(kind)) keeper.request()
  })
  // The registry may have been restored since, so that only a snapshot tells whether the copy is current.
  keeper.request()
  return {
    get lag() {
      return keeper.lag
    },
    begin: () => keeper.begin(),
    async stop() {
      unwatch()
      await keeper.stop()
    },
  }
}

class Keeper {
  readonly #options: KeepCopyOptions
  /** Null: nothing is to be done, or an update is in progress. */
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null
  #lag = 0
  #hasBegun = false
  #isStopped = false
  #failures = 0

  constructor(options: KeepCopyOptions) {
    this.#options = options
  }

  get lag(): number {
    return this.#lag
  }

  request(): void {
    this.#lag++
    if (this.#hasBegun && this.#cancel === null && this.#running === null) this.#wait(COALESCE_MS)
  }

  /** The first update waits for the calls that a node gets when it starts. */
  begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#wait(PAUSE_MS)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#running
  }

  /** Updates after a pause, if anything is to be done then. */
  #wait(delayMs: number): void {
    if (this.#isStopped) return
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#cancel = null
      if (this.#lag > 0) this.#running = this.#update()
    })
  }

  async #update(): Promise<void> {
    const { copy, snapshots, except, onFailed } = this.#options
    const lag = this.#lag
    try {
      await copy.update((receiver) => snapshots.read(copy.mark, except, receiver))
      this.#lag -= lag
      this.#failures = 0
    } catch (cause) {
      onFailed(cause)
      this.#failures++
    }
    this.#running = null
    this.#wait(this.#failures === 0 ? PAUSE_MS : exponentialDelayMs(this.#failures, RETRY))
  }
}
