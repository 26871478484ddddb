/**
 * Hands over the calls that a node which leaves has admitted in windows that are still open.
 *
 * If Redis loses its data afterwards, the nodes that remain report them in its place. The report has the session of the node that left and
 * absolute numbers, so that several nodes may make it, and a later process with the identity is not affected.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { JournalEntry } from './lease-journal.ts'
import { ITEMS_MAX, type LeaseMessage, type LeaseReply, type LeaseRequest } from './lease-messages.ts'

export interface HandOver {
  readonly identity: string
  readonly session: number
  readonly windows: readonly JournalEntry[]
}

/** Part of each request: the generation, and bounds of the grantor's clock. */
export type LeaseBounds = Pick<LeaseRequest, 'epoch' | 'notBeforeMs' | 'notAfterMs'>

export interface ReporterOptions {
  readonly read: () => Promise<readonly HandOver[]>
  readonly send: (message: LeaseMessage) => Promise<LeaseReply>
  /** Null: the node serves in no generation. */
  readonly bounds: () => LeaseBounds | null
  /** Whether the grantor waits for nodes. */
  readonly isWaiting: () => boolean
  readonly clock: Pick<Clock, 'every'>
  readonly onFault: (cause: unknown) => void
}

/** A node that leaves just now may hand over after the first look. */
const LOOK_EVERY_MS = 1_000

/** Reports in the place of nodes that left, as long as the grantor waits. Returns a function that ends that. */
export function reportHandOvers(options: ReporterOptions): () => Promise<void> {
  let running: Promise<void> | null = null
  const look = (): void => {
    if (running !== null || !options.isWaiting()) return
    running = report(options)
      .catch(options.onFault)
      .finally(() => (running = null))
  }
  const stop = options.clock.every(LOOK_EVERY_MS, look)
  return async () => {
    stop()
    await running
  }
}

async function report({ read, send, bounds }: ReporterOptions): Promise<void> {
  const epoch = bounds()?.epoch
  for (const left of await read()) {
    for (const part of partsOf(left)) {
      const now = bounds()
      // Another generation waits for all of them again.
      if (now === null || now.epoch !== epoch) return
      const { type } = await send({ ...part, ...now })
      // `stale`: another node has made this report, or a later one. The last one may only follow all before.
      if (type !== 'granted' && type !== 'stale') return
    }
  }
}

/** The last message of an identity that has handed over. */
export function farewellOf({ identity, session }: HandOver, bounds: LeaseBounds): LeaseRequest {
  const sequence = Number.MAX_SAFE_INTEGER
  return { type: 'request', node: identity, session, sequence, ...bounds, isSynced: false, isLast: true, items: [] }
}

type Part = Omit<LeaseRequest, keyof LeaseBounds>

function partsOf({ identity, session, windows }: HandOver): readonly Part[] {
  const count = Math.max(1, Math.ceil(windows.length / ITEMS_MAX))
  return Array.from({ length: count }, (_, index) => ({
    type: 'request',
    node: identity,
    session,
    sequence: index + 1,
    isSynced: index === count - 1,
    isLast: index === count - 1,
    items: windows.slice(index * ITEMS_MAX, (index + 1) * ITEMS_MAX).map(({ key, startMs, endMs, claim }) => ({
      key,
      // Any declaration is newer.
      budget: { kind: 'total', value: 0, version: 0, startMs, endMs },
      held: 0,
      used: claim,
      want: 0,
    })),
  }))
}
