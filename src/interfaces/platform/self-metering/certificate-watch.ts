/**
 * Raises a risk of the operator's tenant before a certificate of this service expires: a Warning from three weeks before, Critical
 * once it has expired. It is repeated, so that its episode stays open until another certificate is presented.
 */

import { expiryOutcome, toDay } from '../../../foundation/domain/certificate-expiry.ts'
import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Log } from '../../../foundation/runtime/log.ts'
import type { PlatformRecorder } from './platform-recorder.ts'

export interface CertificateWatchOptions {
  readonly certificates: {
    readonly all: readonly { readonly file: string; readonly names: readonly string[]; readonly expiresMs: number }[]
  }
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly tenant: string
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

const REPEAT_MS = 60_000

/** Checks now, then once a minute; returns the function that stops it. */
export function watchExpiry(options: CertificateWatchOptions): () => void {
  check(options)
  return options.clock.every(REPEAT_MS, () => check(options))
}

function check({ certificates, recorder, tenant, clock, log }: CertificateWatchOptions): void {
  const [next] = certificates.all.toSorted((one, other) => one.expiresMs - other.expiresMs)
  const outcome = next === undefined ? null : expiryOutcome(next, clock.nowMs())
  if (next === undefined || outcome === null) return
  const which = `${next.names[0] ?? next.file} until ${toDay(next.expiresMs)}`
  recorder.note(outcome, tenant, PLATFORM_API, null, which).catch((cause: unknown) => {
    log.error({ err: cause }, 'the risk CertificateExpiring could not be recorded; retrying in a minute')
  })
}
