/**
 * Waits until all live nodes serve a position.
 *
 * One read of the list answers all that wait. A read that fails is repeated. When the time of a wait is over, the last list decides
 * which nodes are named; if it is from before the wait, it may lack others. A node that refuses calls without the registry is waited
 * for until it does: it was not up to date when the wait began, so that it does at the end of that time at the latest.
 */

import type { Clock } from '../../../foundation/runtime/clock.ts'
import { UNKNOWN_NODES, type ListedNode } from '../nodes.ts'

export interface Acknowledgements {
  wait(position: number, silentAfterMs: number): Promise<readonly string[]>
  /** Reads the list if anything waits, because a node may have reported. */
  check(): void
}

export interface AcknowledgementsOptions {
  readonly clock: Pick<Clock, 'after' | 'every'>
  readonly list: () => Promise<readonly ListedNode[]>
  /** That of this node, for nodes that could not be read. */
  readonly staleAfterMs: number | null
}

interface Waiting {
  readonly position: number
  readonly silentAfterMs: number
  /** The longest of the times of `timers` that has passed. */
  waitedMs: number
  /** By their times. */
  readonly timers: Map<number, () => void>
  /** Whether a list was read since the wait began. */
  isListed: boolean
  readonly resolve: (pending: readonly string[]) => void
}

const POLL_EVERY_MS = 250

export function createAcknowledgements(options: AcknowledgementsOptions): Acknowledgements {
  return new AcknowledgedNodes(options)
}

class AcknowledgedNodes implements Acknowledgements {
  readonly #options: AcknowledgementsOptions
  readonly #waiting = new Set<Waiting>()
  #nodes: readonly ListedNode[] = []
  #isReading = false
  #isAskedAgain = false
  #stopPolling: (() => void) | null = null

  constructor(options: AcknowledgementsOptions) {
    this.#options = options
  }

  wait(position: number, silentAfterMs: number): Promise<readonly string[]> {
    const { clock, staleAfterMs } = this.#options
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    const each = { position, silentAfterMs, waitedMs: 0, timers: new Map(), isListed: false, resolve }
    this.#waiting.add(each)
    this.#awaitLimit(each, limitOf(each, staleAfterMs))
    this.#stopPolling ??= clock.every(POLL_EVERY_MS, () => this.check())
    this.check()
    return promise
  }

  check(): void {
    if (this.#waiting.size === 0) return
    this.#isAskedAgain = true
    if (!this.#isReading) void this.#readAll()
  }

  async #readAll(): Promise<void> {
    this.#isReading = true
    while (this.#isAskedAgain && this.#waiting.size > 0) {
      this.#isAskedAgain = false
      // The list may be older than a position that is asked for while it is read.
      const asked = [...this.#waiting]
      try {
        this.#nodes = await this.#options.list()
        for (const each of asked) {
          each.isListed = true
          this.#resolveIfServed(each)
        }
      } catch {}
    }
    this.#isReading = false
  }

  #resolveIfServed(each: Waiting): void {
    if (!this.#waiting.has(each)) return
    const awaited = pendingAt(this.#nodes, each)
      .map((node) => ({ silentMs: node.silentMs, limitMs: limitOf(each, node.staleAfterMs) }))
      .filter(({ silentMs, limitMs }) => silentMs < limitMs && each.waitedMs < limitMs)
    if (awaited.length === 0) this.#resolve(each)
    else for (const { limitMs } of awaited) this.#awaitLimit(each, limitMs)
  }

  #awaitLimit(each: Waiting, limitMs: number): void {
    if (each.timers.has(limitMs)) return
    const pass = (): void => {
      each.waitedMs = Math.max(each.waitedMs, limitMs)
      if (each.isListed) this.#resolveIfServed(each)
      else this.#resolve(each)
    }
    each.timers.set(limitMs, this.#options.clock.after(limitMs, pass))
  }

  #resolve(each: Waiting): void {
    if (!this.#waiting.delete(each)) return
    for (const cancel of each.timers.values()) cancel()
    if (this.#waiting.size === 0) {
      this.#stopPolling?.()
      this.#stopPolling = null
    }
    const names = new Set(pendingAt(this.#nodes, each).map(({ name }) => name))
    each.resolve(each.isListed ? [...names] : [...names, UNKNOWN_NODES])
  }
}

function limitOf({ silentAfterMs }: Waiting, staleAfterMs: number | null): number {
  return Math.max(silentAfterMs, staleAfterMs ?? 0)
}

function pendingAt(nodes: readonly ListedNode[], { position: asked }: Waiting): readonly ListedNode[] {
  return nodes.filter((node) => node.position < asked && !hasStopped(node))
}

/** Others took its place, and it refuses calls by now if it still runs. */
function hasStopped({ isReplaced, silentMs, staleAfterMs }: ListedNode): boolean {
  return isReplaced && staleAfterMs !== null && silentMs >= staleAfterMs
}
