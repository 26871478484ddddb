/** Warnings about a deployment whose backend comes from the document and may not be the intended one. */

import { addressesOf } from './backend-address.ts'
import type { Deployment } from './proxy-document.ts'

/** Resolves with the reason why a connection to `url` failed; null if it succeeded, or if the tenant may not probe. Never rejects. */
export type ProbeBackend = (tenant: string, url: string) => Promise<string | null>

export async function backendWarnings(
  tenant: string,
  deployment: Deployment | null,
  serving: Deployment | null,
  probe: ProbeBackend,
): Promise<readonly string[]> {
  if (deployment === null || deployment.backendSource !== 'document') return []
  const { url } = deployment.backend
  const warnings: string[] = []
  const served = serving === null ? [url] : addressesOf(serving.backend).map((address) => address.url)
  if (served.join() !== url) {
    warnings.push(
      `The backend is now ${url}, from servers[0] of the document; the active revision uses ${served.join(', ')}.`,
    )
  }
  if (serving !== null && hasSecrets(serving) && !hasSecrets(deployment)) {
    warnings.push(
      'The backend has none of the secret headers, certificates and authorities of the active revision. Set `backend` in the request to give it some.',
    )
  }
  const fault = await probe(tenant, url)
  if (fault !== null) {
    warnings.push(
      `The backend ${url}, from servers[0] of the document, is not reachable (${fault}). Set \`backend\` in the request to use another one.`,
    )
  }
  return warnings
}

function hasSecrets({ backend: { tls, secretHeaders } }: Deployment): boolean {
  return tls !== undefined || secretHeaders !== undefined
}
