/**
 * Takes risk events that are committed and told to the store, for those who resume the stream later.
 *
 * They wait in the checkpoint's outbox, in batches that stay as they are until the store has them: the
 * same batch is sent under the same token, so a crash in between repeats nothing.
 */

import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Log } from '../runtime/log.ts'
import type { RiskCheckpoint } from '../store/risk-checkpoint.ts'
import type { RiskStore } from '../store/risk-store.ts'
import { riskToken } from '../store/flush-token.ts'

export interface HistoryOptions {
  readonly checkpoint: Pick<RiskCheckpoint, 'nextBatch' | 'sent'> & { readonly instance: string }
  readonly store: Pick<RiskStore, 'insert'>
  readonly log: Log
  readonly count: CountEvent
}

/** Sends what waits; what cannot be sent now goes on waiting. Never rejects. */
export function createHistory({ checkpoint, store, log, count }: HistoryOptions): () => Promise<void> {
  return async () => {
    try {
      for (let batch = checkpoint.nextBatch(); batch !== null; batch = checkpoint.nextBatch()) {
        await store.insert(riskToken(checkpoint.instance, batch), batch.events)
        checkpoint.sent(batch)
      }
    } catch (cause) {
      count('risk_history_failed')
      log.warn({ err: cause }, 'risk events cannot be stored; they wait')
    }
  }
}
