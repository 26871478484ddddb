/** The credential types of a subscription, and the data that each type requires. */

import { Problem } from '../../foundation/domain/problem.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { invalidAt } from '../command/commands.ts'
import type { CredentialType, FederatedClient } from '../access/credential-document.ts'
import { checkBinding } from '../access/credentials.ts'
import { federatedHoldings, isHeld } from '../access/federated-clients.ts'
import { isRegistered } from '../access/identity-provider-document.ts'
import { redirectUriFault } from '../access/redirect-uri.ts'

export interface ClientInput {
  readonly securityTypes?: readonly CredentialType[]
  readonly redirectUris?: readonly string[]
  readonly federated?: FederatedClient
  /** Thumbprint of the client certificate that the credentials are bound to. */
  readonly certificateThumbprint?: string
}

export interface ClientTerms {
  readonly types: readonly CredentialType[]
  readonly redirectUris: readonly string[]
  readonly federated: FederatedClient | null
  readonly certificateThumbprint: string | null
}

const DEFAULT_TYPES: readonly CredentialType[] = ['OAuth2', 'ApiKey']

export async function toClientTerms(
  registry: Pick<Registry, 'find'>,
  tenant: string,
  input: ClientInput,
): Promise<ClientTerms> {
  const types = [...new Set(input.securityTypes ?? DEFAULT_TYPES)]
  const redirectUris = [...new Set(input.redirectUris ?? [])]
  for (const [position, uri] of redirectUris.entries()) {
    const fault = redirectUriFault(uri)
    if (fault !== null) throw invalidAt(`/redirectUris/${position}`, fault)
  }
  if (types.includes('PKCE') && redirectUris.length === 0) {
    throw invalidAt('/redirectUris', 'The type PKCE requires at least one redirect URI.')
  }
  if (redirectUris.length > 0 && !types.includes('PKCE') && !types.includes('OAuth2')) {
    throw invalidAt('/redirectUris', 'Redirect URIs require the type OAuth2 or PKCE.')
  }
  if (types.includes('Federated') !== (input.federated !== undefined)) {
    throw invalidAt(
      '/federated',
      'The type Federated requires federated.issuer and federated.clientId; other types do not take them.',
    )
  }
  const { federated = null } = input
  if (federated !== null && !(await isRegistered(registry, tenant, federated.issuer))) {
    throw invalidAt(
      '/federated/issuer',
      'The issuer is not registered. Register it with POST /v1/identityproviders first.',
    )
  }
  return { types, redirectUris, federated, certificateThumbprint: input.certificateThumbprint ?? null }
}

function federatedTaken(): Problem {
  return new Problem('name_taken', 'This client of the issuer already has a subscription to the API.')
}

/** A federated client can have only one subscription to an API, and no client of the platform API is bound to a certificate. */
export async function checkClient(
  { registry, clock }: { readonly registry: Registry; readonly clock: Pick<Clock, 'nowMs'> },
  tenant: string,
  { api, apiProductId }: { readonly api: string; readonly apiProductId: string },
  { federated, certificateThumbprint }: Pick<ClientTerms, 'federated' | 'certificateThumbprint'>,
): Promise<void> {
  checkBinding({ api }, certificateThumbprint)
  if (federated === null) return
  const product = api === '' ? await registry.get(PRODUCT_KIND, apiProductId) : null
  for (const each of product?.body.apis ?? [api]) {
    const holdings = await federatedHoldings(registry, { tenant, api: each, ...federated })
    if (holdings.some((holding) => isHeld(holding, clock.nowMs()))) throw federatedTaken()
  }
}
