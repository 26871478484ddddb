/**
 * Waits until all live nodes serve a position.
 *
 * One read of the list answers all that wait. A read that fails is repeated; when the time of a waiting command is over, the last list
 * that was read decides which nodes are named.
 */

import type { Clock } from '../../runtime/clock.ts'
import type { ListedNode } from '../nodes.ts'

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
        for (const each of asked) resolveIfServed(each)
      } catch {}
    }
    isReading = false
  }

  function resolveIfServed(each: Waiting): void {
    const pending = nodes.filter(({ position }) => position < each.position)
    if (pending.every(({ silentMs }) => silentMs >= each.silentAfterMs)) resolve(each)
  }

  function resolve(each: Waiting): void {
    if (!waiting.delete(each)) return
    if (waiting.size === 0) {
      stopPolling?.()
      stopPolling = null
    }
    each.resolve(nodes.filter(({ position }) => position < each.position).map(({ name }) => name))
  }

  return {
    check,
    wait(position, silentAfterMs) {
      return new Promise((resolvePromise) => {
        const each = { position, silentAfterMs, resolve: done }
        const cancel = clock.after(silentAfterMs, () => resolve(each))
        function done(pending: readonly string[]): void {
          cancel()
          resolvePromise(pending)
        }
        waiting.add(each)
        stopPolling ??= clock.every(POLL_EVERY_MS, check)
        check()
      })
    },
  }
}
