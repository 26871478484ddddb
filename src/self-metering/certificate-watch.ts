/**
 * Raises a risk of the operator's tenant before a certificate of this service expires: a Warning from three weeks before, Critical
 * once it has expired. It is repeated, so that its episode stays open until another certificate is presented.
 */

import { PLATFORM_API } from '../domain/platform-api.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
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
const WARNING_BEFORE_MS = 21 * 86_400_000

/** Checks now, then once a minute; returns the function that stops it. */
export function watchExpiry(options: CertificateWatchOptions): () => void {
  check(options)
  return options.clock.every(REPEAT_MS, () => check(options))
}

function check({ certificates, recorder, tenant, clock, log }: CertificateWatchOptions): void {
  const nowMs = clock.nowMs()
  const [next] = certificates.all.toSorted((one, other) => one.expiresMs - other.expiresMs)
  if (next === undefined || next.expiresMs - nowMs >= WARNING_BEFORE_MS) return
  const outcome = next.expiresMs <= nowMs ? 'certificate_expired' : 'certificate_expiring'
  const which = `${next.names[0] ?? next.file} until ${new Date(next.expiresMs).toISOString().slice(0, 10)}`
  recorder.note(outcome, tenant, PLATFORM_API, null, which).catch((cause: unknown) => {
    log.error({ err: cause }, 'the risk CertificateExpiring could not be recorded; retrying in a minute')
  })
}
