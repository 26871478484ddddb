/** Reads the identity providers that sign the people of a tenant in. */

import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import {
  clientSecretContext,
  IDENTITY_PROVIDER_KIND,
  signInProviders,
  type IdentityProviderBody,
} from './identity-provider-document.ts'
import { callbackUri } from './identity-providers.ts'

/** A provider as the sign-in page names it. */
export interface SignInProvider {
  readonly id: string
  readonly name: string
  readonly issuer: string
}

/** A provider with the client that this service is there. */
export interface RelyingParty extends SignInProvider {
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly redirectUri: string
}

export interface SignInProviders {
  list(tenant: string): Promise<readonly SignInProvider[]>
  /** Returns null if the tenant has no such provider, or it does not sign people in. */
  find(tenant: string, id: string): Promise<RelyingParty | null>
}

export interface SignInProvidersOptions {
  readonly registry: Pick<Registry, 'get' | 'list'>
  readonly vault: Pick<Vault, 'decrypt'>
  readonly gatewayUrl: string
}

export function createSignInProviders({ registry, vault, gatewayUrl }: SignInProvidersOptions): SignInProviders {
  return {
    async list(tenant) {
      const providers = await signInProviders(registry, tenant)
      return providers.map(({ id, body }) => ({ id, name: nameOf(body), issuer: body.issuer }))
    },
    async find(tenant, id) {
      const found: Document<IdentityProviderBody> | null = await registry.get(IDENTITY_PROVIDER_KIND, id)
      if (found?.tenant !== tenant) return null
      const { issuer, signIn, clientSecret } = found.body
      if (signIn === undefined || clientSecret === undefined) return null
      return {
        id,
        issuer,
        name: nameOf(found.body),
        clientId: signIn.clientId,
        clientSecret: vault.decrypt(clientSecret, clientSecretContext(id)),
        scopes: signIn.scopes,
        redirectUri: callbackUri(gatewayUrl, id),
      }
    },
  }
}

function nameOf({ issuer, signIn }: IdentityProviderBody): string {
  return signIn?.name ?? new URL(issuer).host
}
