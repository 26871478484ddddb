/**
 * Keeps the copy of the registry on the disk of a node up to date, so that the node can start while the registry is away.
 *
 * The copy follows the change feed, at most once a second and off the path of commands: an acknowledgement does not wait for it. A crash
 * may therefore lose what was committed in the last second or two, and a failed update leaves the copy as it was.
 */

import { exponentialDelayMs } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Registry } from '../store/registry.ts'
import type { RegistryCopy, RegistrySnapshots } from '../store/registry-copy.ts'

export interface KeepCopyOptions {
  readonly copy: Pick<RegistryCopy, 'mark' | 'update'>
  readonly registry: Pick<Registry, 'watch'>
  readonly snapshots: RegistrySnapshots
  /** Kinds of documents that no call needs. */
  readonly except: readonly string[]
  readonly clock: Pick<Clock, 'after'>
  /** The copy could not be updated; that is repeated. */
  readonly onFailed: (cause: unknown) => void
}

const PAUSE_MS = 1_000
const RETRY = { firstMs: 1_000, maxMs: 60_000 }

export interface CopyKeeper {
  /** Number of changes that the copy lacks; 1 or more until the first update. */
  readonly lag: number
  /** Waits for the update in progress. */
  stop(): Promise<void>
}

/** Follows the changes after `position`, and writes what the copy lacks before. */
export function keepCopy(options: KeepCopyOptions, position: number): CopyKeeper {
  const keeper = new Keeper(options)
  const unwatch = options.registry.watch(position, ({ document }) => {
    if (!options.except.includes(document.kind)) keeper.request()
  })
  // The registry may have been restored since, so that only a snapshot tells whether the copy is current.
  keeper.request()
  return {
    get lag() {
      return keeper.lag
    },
    async stop() {
      unwatch()
      await keeper.stop()
    },
  }
}

class Keeper {
  readonly #options: KeepCopyOptions
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null
  #lag = 0
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
    if (this.#cancel === null && this.#running === null) this.#schedule(PAUSE_MS)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#running
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#cancel = null
      this.#running = this.#update().then((isUpdated) => {
        this.#running = null
        this.#failures = isUpdated ? 0 : this.#failures + 1
        if (!isUpdated) this.#schedule(exponentialDelayMs(this.#failures, RETRY))
        else if (this.#lag > 0) this.#schedule(PAUSE_MS)
      })
    })
  }

  async #update(): Promise<boolean> {
    const { copy, snapshots, except, onFailed } = this.#options
    const lag = this.#lag
    try {
      await copy.update((receiver) => snapshots.read(copy.mark, except, receiver))
      this.#lag -= lag
      return true
    } catch (cause) {
      onFailed(cause)
      return false
    }
  }
}
