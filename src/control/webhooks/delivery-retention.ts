/**
 * Deletes deliveries and events that are older than 30 days, except pending deliveries.
 *
 * Ids sort by time, so each sweep ends at the first document that is younger.
 */

import { DELIVERY_KIND, stateOfDelivery } from './delivery-document.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { timeOfId } from '../../foundation/runtime/ids.ts'
import { type DocumentKind, type Document, type Registry } from '../../storage/store/registry.ts'
import { OUTBOX_EVENT_KIND } from '../command/event-outbox.ts'

export interface DeliveryRetentionOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly log: { error(fields: object, message: string): void }
}

const RETENTION_MS = 30 * 86_400_000
const EVERY_MS = 3_600_000
const PAGE = 200

/** Sweeps now and every hour. Returns the function that stops it. */
export function startDeliveryRetention({ registry, clock, log }: DeliveryRetentionOptions): () => void {
  let isRunning = false
  let isStopped = false

  async function sweep<Body>(
    kind: DocumentKind<Body>,
    isDeletable: (document: Document<Body>) => boolean,
  ): Promise<void> {
    const beforeMs = clock.nowMs() - RETENTION_MS
    for (let after = ''; !isStopped;) {
      const page = await registry.list(kind, { limit: PAGE, ...(after !== '' && { after }) })
      const old = page.filter(({ id }) => timeOfId(id) < beforeMs)
      const writes = old
        .filter(isDeletable)
        .map(({ id, tenant, revision }) => ({ kind, id, tenant, expected: revision, body: null }))
      if (writes.length > 0)
        await registry.commit({ tenant: writes[0]!.tenant, consumer: 'system' }, 'webhooks.forget', writes)
      if (old.length < PAGE) return
      after = page.at(-1)?.id ?? ''
    }
  }

  async function sweepAll(): Promise<void> {
    if (isRunning) return
    isRunning = true
    try {
      await sweep(DELIVERY_KIND, ({ body }) => stateOfDelivery(body) !== 'pending')
      await sweep(OUTBOX_EVENT_KIND, () => true)
    } catch (cause) {
      log.error({ err: cause }, 'old webhook deliveries and events could not be deleted; retrying in an hour')
    } finally {
      isRunning = false
    }
  }

  void sweepAll()
  const stop = clock.every(EVERY_MS, () => void sweepAll())
  return () => {
    isStopped = true
    stop()
  }
}
