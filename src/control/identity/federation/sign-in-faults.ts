/**
 * Reports why providers could not sign people in: counts each fault, and logs one per provider in ten seconds, because a stranger can
 * cause faults with responses that no provider has sent.
 */

import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../../foundation/runtime/log.ts'

export type ReportSignInFault = (provider: string, fault: string) => void

export interface SignInFaultsOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly count: CountEvent
  readonly log: Pick<Log, 'warn'>
}

const PAUSE_MS = 10_000
const PROVIDERS_MAX = 1_000

export function createSignInFaults({ clock, count, log }: SignInFaultsOptions): ReportSignInFault {
  /** The times of the last lines, in their order. */
  const loggedAtMs = new Map<string, number>()

  return (provider, fault) => {
    count('provider_sign_in_failed')
    const nowMs = clock.nowMs()
    if (nowMs - (loggedAtMs.get(provider) ?? -Infinity) < PAUSE_MS) return
    loggedAtMs.delete(provider)
    loggedAtMs.set(provider, nowMs)
    const oldest = loggedAtMs.keys().next().value
    if (loggedAtMs.size > PROVIDERS_MAX && oldest !== undefined) loggedAtMs.delete(oldest)
    log.warn({ provider, fault }, 'an identity provider could not sign a person in')
  }
}
