/**
 * Emits `CredentialExpiringSoon` 30, 7 and 1 days before a credential expires, and immediately if it is issued with less time left.
 *
 * Each credential has one due time; each warning schedules the next in the same commit, and marks the credential, so that those
 * that expire soon can be listed. The last due time is the expiry, which removes the mark. Revoked and replaced credentials get no
 * warnings.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Registry, Write } from '../../storage/store/registry.ts'
import { toTime } from '../command/commands.ts'
import { CREDENTIAL_KIND, credentialWrite } from './credential-document.ts'
import { dropDueWrite, dueWrite, type DueTime } from '../command/due-times.ts'
import { eventWrite } from '../command/event-outbox.ts'

export const CREDENTIAL_DUE = 'credential_expiring'
export const WARN_DAYS = [30, 7, 1]

export interface CredentialExpiryOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly createId: CreateId
}

/** Schedules the first warning of a new credential: immediately if its lifetime begins inside a warning window. */
export function firstWarningWrite(id: string, tenant: string, expiresAtMs: number, issuedMs: number): Write {
  const atMs = Math.max(issuedMs, expiresAtMs - Math.max(...WARN_DAYS) * DAY_MS)
  return dueWrite({ tenant, kind: CREDENTIAL_DUE, subject: id, atMs })
}

/** Schedules the next warning after `afterMs`, or the expiry. */
function nextWarningWrites(id: string, tenant: string, expiresAtMs: number, afterMs: number): Write[] {
  const times = [...WARN_DAYS, 0].map((days) => expiresAtMs - days * DAY_MS)
  const atMs = times.find((timeMs) => timeMs > afterMs)
  return atMs === undefined ? [] : [dueWrite({ tenant, kind: CREDENTIAL_DUE, subject: id, atMs })]
}

export function createCredentialExpiry(options: CredentialExpiryOptions): (due: DueTime) => Promise<void> {
  const { registry, clock, createId } = options

  return async ({ tenant, subject: id, atMs }) => {
    const credential = await registry.get(CREDENTIAL_KIND, id)
    if (credential === null) return
    const { revision, body } = credential
    const { state, isReplaced, expiresAtMs, subscription, type, clientId } = body
    const nowMs = clock.nowMs()
    if (state === 'Revoked' || isReplaced === true) return
    const author = { tenant, consumer: 'system' }
    if (expiresAtMs <= nowMs) {
      const { isExpiring, ...rest } = body
      if (isExpiring === undefined) return
      await registry.commit(author, 'credential.expire', [credentialWrite(id, tenant, revision, rest)])
      return
    }
    const data = {
      credential: id,
      subscription,
      type,
      clientId: clientId || null,
      expiresAt: toTime(expiresAtMs),
      reason: 'CredentialExpires',
    }
    await registry.commit(author, 'credential.expiring', [
      credentialWrite(id, tenant, revision, { ...body, isExpiring: true }),
      eventWrite(createId, tenant, 'CredentialExpiringSoon', data),
      ...(await dropDueWrite(registry, CREDENTIAL_DUE, id, atMs)),
      ...nextWarningWrites(id, tenant, expiresAtMs, nowMs),
    ])
  }
}
