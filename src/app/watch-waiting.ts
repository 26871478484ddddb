/** Names the nodes that limits wait for after a grantor has lost its data, in the log and at `/readyz`. */

import type { LeaseNode } from '../boundary/leases/lease-node.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'

export interface WaitingOptions {
  /** Names the grantor in the log. */
  readonly name: string
  /** In a sentence, for the log. */
  readonly remedy: string
  readonly node: Pick<LeaseNode, 'waiting'>
  /** Returns the names of the nodes that the grantor waits for. */
  readonly namesOf: (waiting: readonly string[]) => Promise<readonly string[]>
  readonly clock: Pick<Clock, 'every'>
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly onFault: (cause: unknown) => void
}

const LOOK_EVERY_MS = 1_000
/** Nodes that run report within this time. */
const LOOKS_BEFORE = 5

export function watchWaiting({ name, remedy, node, namesOf, clock, log, onFault }: WaitingOptions) {
  let looks = 0
  let said: string | null = null

  async function look(): Promise<void> {
    const { waiting } = node
    if (waiting.length === 0) {
      if (said !== null) log.info(`limits that ${name} grants no longer wait for nodes`)
      said = null
      looks = 0
    } else if (++looks > LOOKS_BEFORE) {
      const names = await namesOf(waiting)
      const who = names.length === 0 ? `${waiting.length} nodes that left` : names.join(', ')
      const sentence = `${name} has lost its data, and limits of open windows wait for what ${who} held.`
      if (said !== sentence) log.warn({ nodes: names }, `${sentence} ${remedy}`)
      said = sentence
    }
  }

  let isLooking = false
  const stop = clock.every(LOOK_EVERY_MS, () => {
    if (isLooking) return
    isLooking = true
    void look()
      .catch(onFault)
      .finally(() => (isLooking = false))
  })
  return { waitingFor: (): string | null => said, stop }
}
