/** How the gateway proves its identity to a backend, and by which authorities it verifies the backend. */

import { createSecureContext, type SecureContext } from 'node:tls'
import type { BackendTls } from '../../boundary/plan/route-plan.ts'

/** Returns the options of the connections to a backend, made once for all of them. Throws if the key or a certificate cannot be used. */
export function toTlsOptions(tls: BackendTls | undefined): { readonly secureContext?: SecureContext } {
  if (tls === undefined) return {}
  const { certificate: cert, key, ca } = tls
  return { secureContext: createSecureContext({ ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) }) }
}
