/**
 * Raises a risk of the tenant of an API before a certificate for its backend expires: a Warning from three weeks before, Critical
 * once it has expired. Watches the revisions that serve, canaries included.
 *
 * Keeps the ends of certificates only: no names, no texts, no keys. A risk is repeated every minute, so that its episode stays open
 * until a revision with another certificate serves.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { expiryOutcome, toDay } from '../../foundation/domain/certificate-expiry.ts'
import type { Outcome } from '../../foundation/domain/outcome.ts'
import type { PlanHead } from '../../boundary/plan/packed-plan.ts'
import type { RevisionPlan } from '../../boundary/plan/route-plan.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { certificatesOf } from './backend-tls.ts'

export interface BackendCertificatesOptions {
  readonly recorder: {
    /** Records a risk of a tenant at an API. `which` appears in its evidence. */
    note(code: Outcome, tenant: string, api: string, party: null, which: string): Promise<void>
  }
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn'>
}

export interface BackendCertificates {
  /** Watches the certificates of a plan that serves, instead of those of the plan before. */
  serve(this: void, plan: PlanHead): void
  withdraw(this: void, api: string): void
  /** Returns the days until the first of all certificates expires; null if there are none. */
  daysLeft(this: void): number | null
  stop(this: void): void
}

interface Watched {
  readonly what: 'client certificate' | 'authority'
  readonly revision: number
  /** When the first one of several expires. */
  readonly expiresMs: number
  /** When none of them is of use any more. */
  readonly uselessMs: number
}

interface WatchedApi {
  readonly tenant: string
  readonly certificates: readonly Watched[]
}

const REPEAT_MS = 60_000

export function watchBackendCertificates(options: BackendCertificatesOptions): BackendCertificates {
  const { clock, log } = options
  const apis = new Map<string, WatchedApi>()
  return {
    serve(plan) {
      const { tenant, api } = plan
      const certificates = read(plan, log)
      if (certificates.length === 0) apis.delete(api)
      else apis.set(api, { tenant, certificates })
    },
    withdraw: (api) => void apis.delete(api),
    daysLeft() {
      let firstMs = Infinity
      for (const { certificates } of apis.values())
        for (const { expiresMs } of certificates) firstMs = Math.min(firstMs, expiresMs)
      return firstMs === Infinity ? null : (firstMs - clock.nowMs()) / DAY_MS
    },
    stop: clock.every(REPEAT_MS, () => void raiseAll(options, apis)),
  }
}

/** Does not throw, because the plan serves already. */
function read(plan: PlanHead, log: BackendCertificatesOptions['log']): readonly Watched[] {
  try {
    return [...ofRevision(plan), ...(plan.canary === undefined ? [] : ofRevision(plan.canary.plan))]
  } catch {
    log.warn({ api: plan.api }, 'a certificate for the backend of an API cannot be read; its end is not watched')
    return []
  }
}

function ofRevision({ backend, revision, state }: Pick<RevisionPlan, 'backend' | 'revision' | 'state'>): Watched[] {
  const tls = backend?.tls
  // A retired API calls no backend.
  if (tls === undefined || state === 'Retired') return []
  const watched: Watched[] = []
  if (tls.certificate !== undefined) {
    const expiresMs = Math.min(...endsOf(tls.certificate))
    watched.push({ what: 'client certificate', revision, expiresMs, uselessMs: expiresMs })
  }
  if (tls.ca !== undefined) {
    const ends = endsOf(tls.ca)
    watched.push({ what: 'authority', revision, expiresMs: Math.min(...ends), uselessMs: Math.max(...ends) })
  }
  return watched
}

function endsOf(text: string): readonly number[] {
  return certificatesOf(text).map(({ validToDate }) => validToDate.getTime())
}

/** Raises one risk for each API, about the certificate that is worst. */
async function raiseAll(
  { recorder, clock, log }: BackendCertificatesOptions,
  apis: ReadonlyMap<string, WatchedApi>,
): Promise<void> {
  const nowMs = clock.nowMs()
  const notes: Promise<void>[] = []
  for (const [api, { tenant, certificates }] of apis) {
    const worst = worstOf(certificates, nowMs)
    if (worst === null) continue
    notes.push(recorder.note(worst.outcome, tenant, api, null, toEvidence(api, worst)))
  }
  const results = await Promise.allSettled(notes)
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed === undefined) return
  log.error(
    { err: (failed as PromiseRejectedResult).reason },
    'the risk CertificateExpiring could not be recorded for backends; retrying in a minute',
  )
}

interface Worst extends Watched {
  readonly outcome: NonNullable<ReturnType<typeof expiryOutcome>>
}

/** Returns the first that expires of those with the worst outcome; null if there is time for all. */
function worstOf(certificates: readonly Watched[], nowMs: number): Worst | null {
  let worst: Worst | null = null
  for (const certificate of certificates) {
    const outcome = expiryOutcome(certificate, nowMs)
    if (outcome === null) continue
    const isWorse =
      worst === null ||
      (outcome === worst.outcome ? certificate.expiresMs < worst.expiresMs : outcome === 'certificate_expired')
    if (isWorse) worst = { ...certificate, outcome }
  }
  return worst
}

function toEvidence(api: string, { what, revision, outcome, expiresMs, uselessMs }: Worst): string {
  const day = toDay(outcome === 'certificate_expired' ? uselessMs : expiresMs)
  return `${what} for the backend of ${api}, revision ${revision}, until ${day}`
}
