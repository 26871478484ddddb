/**
 * Ends subscriptions at their expiry date.
 *
 * From that time the gateway threads refuse the credentials, because each grant ends with its subscription; the scheduler then cancels
 * the subscription. `CredentialExpiringSoon` is emitted for each credential 30, 7 and 1 days before, and immediately if the date is set
 * with less time left.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { CREDENTIAL_KIND } from '../access/credential-document.ts'
import { WARN_DAYS } from '../access/credential-expiry.ts'
import { invalidAt, toTime } from '../command/commands.ts'
import { addDueWrite, type DueTime } from '../command/due-times.ts'
import { eventWrite } from '../command/event-outbox.ts'
import { listAll } from '../command/page.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Author, Registry, Write } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'

export const SUBSCRIPTION_EXPIRY = 'subscription_expiry'
export const SUBSCRIPTION_WARNING = 'subscription_expiring'

export interface SubscriptionExpiryOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly createId: CreateId
  readonly cancel: (author: Author, subscription: string) => Promise<unknown>
}

export interface SubscriptionExpiry {
  /** Emits the warnings of a subscription. */
  warn(due: DueTime): Promise<void>
  /** Cancels a subscription whose date has come. */
  expire(due: DueTime): Promise<void>
}

/** Returns a date of a request in milliseconds. Throws a 400 problem if it is not in the future. */
export function toExpiryMs(expiresAt: string, nowMs: number): number {
  const atMs = Date.parse(expiresAt)
  if (!(atMs > nowMs)) throw invalidAt('/expiresAt', 'The date must be in the future.')
  return atMs
}

/** Schedules the expiry and its warnings. Tasks of an earlier date have no effect when they fall due. */
export async function expiryWrites(
  registry: Pick<Registry, 'get'>,
  { id: subject, tenant }: { readonly id: string; readonly tenant: string },
  expiresAtMs: number,
  nowMs: number,
): Promise<readonly Write[]> {
  const warnings = WARN_DAYS.map((days) => Math.max(nowMs, expiresAtMs - days * DAY_MS))
  const writes = await addDueWrite(registry, { tenant, kind: SUBSCRIPTION_EXPIRY, subject, atMs: expiresAtMs })
  for (const atMs of new Set(warnings)) {
    writes.push(...(await addDueWrite(registry, { tenant, kind: SUBSCRIPTION_WARNING, subject, atMs })))
  }
  return writes
}

export function createSubscriptionExpiry(options: SubscriptionExpiryOptions): SubscriptionExpiry {
  const { registry, clock, createId, cancel } = options

  /** Returns the expiry date of a subscription that has not ended. */
  async function expiryOf({ subject }: DueTime): Promise<number | null> {
    const subscription = await registry.get(SUBSCRIPTION_KIND, subject)
    if (subscription === null || subscription.body.actor.status === 'done') return null
    return subscription.body.expiresAtMs ?? null
  }

  return {
    async warn(due) {
      const { tenant, subject: subscription, atMs } = due
      const expiresAtMs = await expiryOf(due)
      if (expiresAtMs === null || expiresAtMs <= clock.nowMs()) return
      if (expiresAtMs - atMs > Math.max(...WARN_DAYS) * DAY_MS) return
      const writes: Write[] = []
      for await (const { id, body } of listAll(registry, CREDENTIAL_KIND, { tenant, where: { subscription } })) {
        // A credential that ends earlier has warnings of its own.
        if (body.state === 'Revoked' || body.isReplaced === true || body.expiresAtMs < expiresAtMs) continue
        const { type, clientId } = body
        const expiresAt = toTime(expiresAtMs)
        const data = { credential: id, subscription, type, clientId: clientId || null, expiresAt }
        writes.push(eventWrite(createId, tenant, 'CredentialExpiringSoon', { ...data, reason: 'SubscriptionExpires' }))
      }
      if (writes.length > 0) await registry.commit({ tenant, consumer: 'system' }, 'subscription.expiring', writes)
    },
    async expire(due) {
      const expiresAtMs = await expiryOf(due)
      if (expiresAtMs === null || expiresAtMs > clock.nowMs()) return
      await cancel({ tenant: due.tenant, consumer: 'system' }, due.subject)
    },
  }
}
