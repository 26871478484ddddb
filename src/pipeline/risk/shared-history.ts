/**
 * Sends the risk events of all nodes to the history, and removes what is old.
 *
 * A batch does not change until the store has it, and any node sends it under the same token, so that nothing is stored twice.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { sharedRiskToken } from '../../storage/store/flush-token.ts'
import type { RiskStore } from '../../storage/store/risk-store.ts'
import type { RiskOutbox } from '../../storage/store/shared-risks.ts'

export interface SharedHistoryOptions {
  readonly outbox: RiskOutbox
  readonly store: Pick<RiskStore, 'insert'>
  /** Days for which cleared episodes are kept. */
  readonly clearedDays: number
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly log: Log
  readonly count: CountEvent
}

export interface SharedHistory {
  start(): Promise<void>
  stop(): Promise<void>
}

const SEND_EVERY_MS = 1_000
const PRUNE_EVERY_MS = 60_000

export function createSharedHistory(options: SharedHistoryOptions): SharedHistory {
  const { clock } = options
  let sending: Promise<void> | null = null
  let prunedMs = -Infinity
  let stopTicking = (): void => {}

  async function run(): Promise<void> {
    await sendAll(options)
    if (clock.nowMs() - prunedMs < PRUNE_EVERY_MS) return
    prunedMs = clock.nowMs()
    await prune(options)
  }

  return {
    async start() {
      stopTicking = clock.every(SEND_EVERY_MS, () => {
        sending ??= run().finally(() => (sending = null))
      })
    },
    async stop() {
      stopTicking()
      await sending
    },
  }
}

async function sendAll({ outbox, store, count, log }: SharedHistoryOptions): Promise<void> {
  try {
    for (let batch = await outbox.nextBatch(); batch !== null; batch = await outbox.nextBatch()) {
      await store.insert(sharedRiskToken(batch), batch.events)
      await outbox.stored(batch)
    }
  } catch (cause) {
    count('risk_history_failed')
    log.warn({ err: cause }, 'risk events could not be stored; they stay in PostgreSQL, retrying')
  }
}

async function prune({ outbox, clock, clearedDays, count, log }: SharedHistoryOptions): Promise<void> {
  try {
    const dropped = await outbox.prune(clock.nowMs() - clearedDays * DAY_MS)
    if (dropped > 0) count('risk_history_dropped', dropped)
  } catch (cause) {
    log.warn({ err: cause }, 'old risk events could not be removed; retrying in a minute')
  }
}
