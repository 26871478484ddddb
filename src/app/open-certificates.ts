/** Reads the certificates of this service at the start. */

import { DAY_MS } from '../foundation/domain/calendar.ts'
import type { Config } from './config.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Metrics } from '../foundation/runtime/metrics.ts'
import { StartRefused } from '../foundation/runtime/start-refused.ts'
import { readCertificates } from '../foundation/tls/certificate-files.ts'
import { ServedCertificates } from '../foundation/tls/served-certificates.ts'

export interface CertificatesOptions {
  readonly config: Pick<Config, 'tls'>
  readonly metrics: Pick<Metrics, 'measured'>
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
}

/** Returns null without TLS. Throws `StartRefused`. */
export async function openCertificates(options: CertificatesOptions): Promise<ServedCertificates | null> {
  const { config, metrics, clock } = options
  const { tls: settings } = config
  let certificates: ServedCertificates | null = null
  // Also without TLS, so that a dashboard finds the metric on every node.
  const help = 'Days until the first certificate of this service expires; negative: since it has expired'
  metrics.measured('tls_certificate_days_left', help, () => {
    if (certificates === null) return null
    return (Math.min(...certificates.all.map(({ expiresMs }) => expiresMs)) - clock.nowMs()) / DAY_MS
  })
  if (settings === null) return null
  const first = await readCertificates(settings, null)
  if (first.faults.length > 0) throw new StartRefused(first.faults.join('\n'))
  certificates = new ServedCertificates({ ...options, settings, first })
  return certificates
}
