/** Presents other certificates when their files change, warns before one expires, and redirects HTTP to HTTPS. */

import type { GatewayPool } from '../gateway/threads/gateway-pool-options.ts'
import { watchExpiry } from '../interfaces/platform/self-metering/certificate-watch.ts'
import type { PlatformRecorder } from '../interfaces/platform/self-metering/platform-recorder.ts'
import { openRedirectPort } from '../foundation/tls/redirect-port.ts'
import type { Core } from './open-core.ts'

export interface FollowOptions {
  readonly core: Core
  readonly pool: GatewayPool
  readonly recorder: Pick<PlatformRecorder, 'note'>
}

/** Follows the files of the certificates, and opens the port that redirects to HTTPS. */
export async function followCertificates({ core, pool, recorder }: FollowOptions): Promise<void> {
  const { certificates, secureServers, config, addresses, heldPorts, opened } = core
  if (certificates === null || secureServers === null) return
  certificates.onChange((plan) => {
    secureServers.present(plan)
    return pool.setCertificates(plan)
  })
  certificates.watch()
  opened('certificates', () => certificates.stop())
  opened('watch on certificates', watchExpiry({ ...core, certificates, recorder, tenant: config.adminTenant }))
  const { redirectPort: port } = addresses
  if (port === null) return
  const at = { host: config.host, port, reusePort: heldPorts.has(port) }
  await openRedirectPort({ ...addresses, ...at, contexts: () => secureServers.contexts, opened })
}
