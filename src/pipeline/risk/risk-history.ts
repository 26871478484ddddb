/**
 * Sends committed risk events to the store, for subscribers that resume the stream later.
 *
 * Events are queued in the outbox of the checkpoint, in batches that do not change until the store has them. The same batch
 * is sent under the same token, so a crash in between stores nothing twice.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { RiskCheckpoint } from '../../storage/store/risk-checkpoint.ts'
import type { RiskStore } from '../../storage/store/risk-store.ts'
import { riskToken } from '../../storage/store/flush-token.ts'

export interface HistoryOptions {
  readonly checkpoint: Pick<RiskCheckpoint, 'nextBatch' | 'sent'> & { readonly instance: string }
  readonly store: Pick<RiskStore, 'insert'>
  readonly log: Log
  readonly count: CountEvent
}

/** Returns a function that sends the outbox. Events that cannot be sent stay there. Never rejects. */
export function createHistory({ checkpoint, store, log, count }: HistoryOptions): () => Promise<void> {
  return async () => {
    try {
      for (let batch = checkpoint.nextBatch(); batch !== null; batch = checkpoint.nextBatch()) {
        await store.insert(riskToken(checkpoint.instance, batch), batch.events)
        checkpoint.sent(batch)
      }
    } catch (cause) {
      count('risk_history_failed')
      log.warn({ err: cause }, 'risk events could not be stored; they stay in the outbox, retrying')
    }
  }
}
