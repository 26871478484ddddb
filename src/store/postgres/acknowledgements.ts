/**
 * Waits until all live nodes serve a position.
 *
 * One read of the list answers all that wait. A read that fails is repeated. When the time of a wait is over, the last list decides
 * which nodes are named; if it is from before the wait, it may lack others.
 */

import type { Clock } from '../../runtime/clock.ts'
import { UNKNOWN_NODES, type ListedNode } from '../nodes.ts'

export interface Acknowledgements {
  wait(position: number, silentAfterMs: number): Promise<readonly string[]>
  /** Reads the list if anything waits, because a node may have reported. */
  check(): void
}

export interface AcknowledgementsOptions {
  readonly clock: Pick<Clock, 'after' | 'every'>
  readonly list: () => Promise<readonly ListedNode[]>
}

interface Waiting {
  readonly position: number
  readonly silentAfterMs: number
  /** Whether a list was read since the wait began. */
  isListed: boolean
  readonly resolve: (pending: readonly string[]) => void
}

const POLL_EVERY_MS = 250

export function createAcknowledgements({ clock, list }: AcknowledgementsOptions): Acknowledgements {
  const waiting = new Set<Waiting>()
  let nodes: readonly ListedNode[] = []
  let isReading = false
  let isAskedAgain = false
  let stopPolling: (() => void) | null = null

  function check(): void {
    if (waiting.size === 0) return
    isAskedAgain = true
    if (!isReading) void readAll()
  }

  async function readAll(): Promise<void> {
    isReading = true
    while (isAskedAgain && waiting.size > 0) {
      isAskedAgain = false
      // The list may be older than a position that is asked for while it is read.
      const asked = [...waiting]
      try {
        nodes = await list()
        for (const each of asked) {
          each.isListed = true
          resolveIfServed(each)
        }
      } catch {}
    }
    isReading = false
  }

  function resolveIfServed(each: Waiting): void {
    const pending = pendingAt(nodes, each)
    if (pending.every(({ silentMs }) => silentMs >= each.silentAfterMs)) resolve(each)
  }

  function resolve(each: Waiting): void {
    if (!waiting.delete(each)) return
    if (waiting.size === 0) {
      stopPolling?.()
      stopPolling = null
    }
    const names = pendingAt(nodes, each).map(({ name }) => name)
    each.resolve(each.isListed ? names : [...names, UNKNOWN_NODES])
  }

  return {
    check,
    wait(position, silentAfterMs) {
      const { promise, resolve: end } = Promise.withResolvers<readonly string[]>()
      const each = { position, silentAfterMs, isListed: false, resolve: end }
      const cancel = clock.after(silentAfterMs, () => resolve(each))
      waiting.add(each)
      stopPolling ??= clock.every(POLL_EVERY_MS, check)
      check()
      return promise.finally(cancel)
    },
  }
}

function pendingAt(nodes: readonly ListedNode[], { position: asked }: Waiting): readonly ListedNode[] {
  return nodes.filter(({ position }) => position < asked)
}
