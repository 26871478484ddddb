/** Composes the authorization server of all APIs: token, authorize, introspection, revocation and userinfo. */

import { randomBytes } from 'node:crypto'
import { API_KIND } from '../control/publishing/apis.ts'
import { findTenant } from '../control/access/platform-access.ts'
import type { Grants } from '../control/access/grants.ts'
import type { LastUses } from '../control/access/last-uses.ts'
import type { TokenRevocations } from '../control/access/token-revocations.ts'
import type { TokenScopes } from '../control/access/token-scopes.ts'
import type { LoginThrottle } from '../control/access/people/login-throttle.ts'
import type { People } from '../control/access/people/people.ts'
import { isPassword } from '../control/access/people/password-rule.ts'
import { createSignInProviders } from '../control/access/sign-in-providers.ts'
import { createAccessTokens } from '../control/identity/access-token.ts'
import { createAuthorizationCodes, type AuthorizationCodes } from '../control/identity/authorization-codes.ts'
import { createAuthorizeFlow } from '../control/identity/authorize-flow.ts'
import { createDeviceAuthorization } from '../control/identity/device-authorization.ts'
import { createDeviceCodes } from '../control/identity/device-codes.ts'
import { createDeviceThrottle } from '../control/identity/device-throttle.ts'
import { createClientAuthentication } from '../control/identity/client-authentication.ts'
import { createMetadataClients, type MetadataClientsOptions } from '../control/identity/clients/metadata-clients.ts'
import { createRegisteredClients, type FindClient } from '../control/identity/clients/registered-clients.ts'
import { createCodeExchange, type CodeExchangeOptions } from '../control/identity/federation/code-exchange.ts'
import { createSignInFaults } from '../control/identity/federation/sign-in-faults.ts'
import { createRegistrationBudget } from '../control/identity/clients/registration-budget.ts'
import { createRegistrationEndpoint } from '../control/identity/clients/registration-endpoint.ts'
import type { SelfRegisteredClients } from '../control/identity/clients/self-registered-clients.ts'
import { createIdTokens } from '../control/identity/id-token.ts'
import { createIntrospection } from '../control/identity/introspection.ts'
import { createIssuedTokens } from '../control/identity/issued-token.ts'
import { createPasswordPage } from '../control/identity/password-page.ts'
import type { KeyRing } from '../control/identity/key-ring.ts'
import type { OauthEndpoint } from '../boundary/plan/oauth-call.ts'
import { createOauthDispatcher } from '../control/identity/oauth-dispatcher.ts'
import type { RefreshGrants } from '../control/identity/refresh-grants.ts'
import { createRevocation } from '../control/identity/revocation.ts'
import { createSecretThrottle } from '../control/identity/secret-throttle.ts'
import type { IsRevoked } from '../control/identity/sessions.ts'
import { createTokenEndpoint } from '../control/identity/token-endpoint.ts'
import { createUserinfo } from '../control/identity/userinfo.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CreateId } from '../foundation/runtime/ids.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Vault } from '../foundation/runtime/vault.ts'
import type { Registry } from '../storage/store/registry.ts'
import type { IdentityStores } from './identity-stores.ts'

export interface AuthorizationOptions {
  readonly registry: Registry
  readonly keyRing: KeyRing
  readonly grants: Grants
  readonly people: Pick<People, 'signIn' | 'secondFactors' | 'grantPerson' | 'federated'>
  readonly federation: CodeExchangeOptions
  readonly throttle: LoginThrottle
  readonly stores: IdentityStores
  readonly revocations: TokenRevocations
  readonly refreshGrants: RefreshGrants
  readonly isRevoked: IsRevoked
  readonly scopesOf: (api: string) => Promise<TokenScopes | null>
  readonly vault: Vault
  readonly clock: Clock
  readonly createId: CreateId
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly log: Log
  readonly count: CountEvent
  readonly clientMetadata: MetadataClientsOptions
  readonly registeredClients: SelfRegisteredClients
  readonly allowsRegistration: boolean
  readonly lastUses: Pick<LastUses, 'note'>
}

export function createAuthorization(options: AuthorizationOptions): OauthEndpoint {
  const { registry, grants, people, revocations, refreshGrants, registeredClients, vault, log, count } = options
  const { signIn, secondFactors, grantPerson } = people
  const clientFor = createFindClient(options)
  const { keyedHash } = vault
  const { revoke } = revocations
  const shared = { ...options, clientFor, grantPerson, grantOf: grants.resolve, keyedHash, randomBytes }
  const authenticateClient = createClientAuthentication({
    ...shared,
    throttle: createSecretThrottle(options.clock),
    onUse: (credential) => options.lastUses.note([credential]),
  })
  const codes = createAuthorizationCodes(shared)
  const deviceCodes = createDeviceCodes({ ...shared, store: options.stores.deviceCodes })
  const deviceThrottle = createDeviceThrottle({ ...shared, attempts: options.stores.attempts.device })
  const tokens = createIssuedTokens(shared)
  const titleOf = async (api: string): Promise<string> => (await registry.get(API_KIND, api))?.body.title ?? api

  const authorize = createAuthorizeFlow({
    ...shared,
    codes: { create: noteUse(codes, registeredClients) },
    ...{ secondFactors, deviceCodes, deviceThrottle, titleOf, verify: signIn.verify },
    people: people.federated,
    providers: createSignInProviders(options),
    exchange: createCodeExchange(options.federation),
    onFault: createSignInFaults(options),
  })

  return createOauthDispatcher({
    endpoints: {
      token: createTokenEndpoint({
        ...shared,
        authenticateClient,
        codes,
        deviceCodes,
        revoke,
        onReuse({ id, tenant, clientId, person }) {
          count('refresh_token_reused')
          log.warn({ tenant, clientId, person, grant: id }, 'refresh token was used twice; its session has ended')
        },
        mint: createAccessTokens(shared),
        mintIdToken: createIdTokens(shared),
      }),
      authorize,
      callback: authorize,
      device: authorize,
      device_authorization: createDeviceAuthorization({ ...shared, authenticateClient, deviceCodes }),
      password: createPasswordPage({ ...signIn, isPassword, baseUrl: options.baseUrl }),
      introspect: createIntrospection({ authenticateClient, tokens, refreshGrants, grantPerson }),
      revoke: createRevocation({ authenticateClient, tokens, refreshGrants, revoke }),
      userinfo: createUserinfo({ tokens, personOf: signIn.find }),
      register: createRegistration(options),
    },
    onFailure(cause) {
      count('oauth_failed')
      log.error({ err: cause }, 'OAuth request failed; the response is 503')
    },
  })
}

function createFindClient(options: AuthorizationOptions): FindClient {
  const { registry, grants, registeredClients, clientMetadata, baseUrl } = options
  return createRegisteredClients({
    subscribed: grants.clientFor,
    tenantNamed: (name) => findTenant(registry, name),
    selfRegistered: registeredClients.clientFor,
    baseUrl,
    findMetadataClient: createMetadataClients(clientMetadata),
  })
}

function createRegistration(options: AuthorizationOptions): OauthEndpoint {
  const { allowsRegistration: isAllowed, registeredClients: clients, stores, vault } = options
  const budget = createRegistrationBudget({ attempts: stores.attempts.registration, keyedHash: vault.keyedHash })
  return createRegistrationEndpoint({ ...options, isAllowed, clients, budget })
}

/** A code is created when a person has allowed the access. */
function noteUse(codes: AuthorizationCodes, { touch }: SelfRegisteredClients): AuthorizationCodes['create'] {
  return async (consent) => {
    await touch(consent.clientId)
    return codes.create(consent)
  }
}
