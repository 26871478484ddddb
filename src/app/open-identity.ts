/**
 * Composes identity on the main thread: people, signing keys and their rotation, federated providers, revoked
 * tokens, and the OAuth endpoints.
 */

import { createAuthorization } from './authorization-server.ts'
import { createIdentityStores } from './identity-stores.ts'
import type { Shared } from './open-shared.ts'
import { REVOCATION_CLAIM, type GatewayPort } from '../boundary/plan/gateway-port.ts'
import type { Secrets } from '../control/access/credential-document.ts'
import type { Grants } from '../control/access/grants.ts'
import { registeredProviders } from '../control/access/identity-provider-document.ts'
import { createIdentityProviders, type IdentityProviders } from '../control/access/identity-providers.ts'
import { openTokenRevocations, type TokenRevocations } from '../control/access/token-revocations.ts'
import type { TokenScopes } from '../control/access/token-scopes.ts'
import type { LastUses } from '../control/access/last-uses.ts'
import { createLoginThrottle } from '../control/access/people/login-throttle.ts'
import { createPeople, type People } from '../control/access/people/people.ts'
import { createEndCodes } from '../control/identity/client-codes.ts'
import {
  createSelfRegisteredClients,
  type SelfRegisteredClients,
} from '../control/identity/clients/self-registered-clients.ts'
import type { Sessions } from '../control/access/people/sessions.ts'
import { openPersonRevocations, type PersonRevocations } from '../control/access/person-revocations.ts'
import type { KeyedMutex } from '../control/command/keyed-mutex.ts'
import { createFederation, type Federation } from '../control/identity/federation/provider-keys.ts'
import { createPersonTokens, type IssuePersonToken } from '../control/identity/person-tokens.ts'
import { createAccessTokens, LIFETIME_SECONDS } from '../control/identity/access-token.ts'
import { createConsumersOfPerson } from '../control/access/people/person-subscriptions.ts'
import { createRefreshGrants, type RefreshGrants } from '../control/identity/refresh-grants.ts'
import { createSessions, type IsRevoked } from '../control/identity/sessions.ts'
import { createKeyRotation, type KeyRotation } from '../control/identity/key-rotation.ts'
import type { KeyRing } from '../control/identity/key-ring.ts'
import type { OauthEndpoint } from '../boundary/plan/oauth-call.ts'
import { createTenantPolicies } from '../control/programmes/tenant-policy.ts'
import { recordOauthAttempts } from '../interfaces/platform/self-metering/oauth-attempts.ts'
import { createGuardedFetch, type GuardedFetch } from '../foundation/outbound/guarded-fetch.ts'
import type { PlatformRecorder } from '../interfaces/platform/self-metering/platform-recorder.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { createPasswordHasher } from '../foundation/runtime/password-hash.ts'
import type { Registry } from '../storage/store/registry.ts'

export interface IdentityOptions extends Secrets {
  readonly registry: Registry
  readonly gateway: GatewayPort
  readonly grants: Grants
  readonly keyRing: KeyRing
  readonly scopesOf: (api: string) => Promise<TokenScopes | null>
  readonly recorder: PlatformRecorder
  readonly clock: Clock
  /** Null: this is the only node. */
  readonly shared: Shared | null
  readonly mutex: KeyedMutex
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
  /** The tenant of the operator. */
  readonly operator: string
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly log: Log
  readonly count: CountEvent
  /** Allows providers to have private addresses. */
  readonly allowPrivate: boolean
  /** Allows metadata documents of clients to have private addresses. */
  readonly allowPrivateClients: boolean
  readonly lastUses: Pick<LastUses, 'note'>
  /** Lets clients register themselves. */
  readonly allowsRegistration: boolean
  /** Resolves when every thread has the keys. */
  readonly publishKeys: (jwks: { keys: readonly Readonly<Record<string, unknown>>[] }) => Promise<void>
}

export interface Identity {
  readonly people: People
  readonly sessions: Sessions
  readonly registeredClients: SelfRegisteredClients
  readonly personRevocations: PersonRevocations
  readonly tokenRevocations: Pick<TokenRevocations, 'watch' | 'follow'>
  readonly providers: IdentityProviders
  readonly federation: Federation
  readonly rotation: KeyRotation
  readonly oauth: OauthEndpoint
  readonly issuePersonToken: IssuePersonToken
  close(): Promise<void>
}

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { registry, gateway, clock, count, createId, randomBytes } = options
  const tokenLifetimeMs = LIFETIME_SECONDS * 1_000
  const personRevocations = await openPersonRevocations({ registry, gateway, clock, createId, tokenLifetimeMs })
  const passwords = createPasswordHasher({ randomBytes })
  const stores = createIdentityStores(options.shared, clock)
  const { keyedHash } = options.vault
  const throttle = createLoginThrottle({ attempts: stores.attempts.login, keyedHash })
  const policies = createTenantPolicies({ registry })
  const isRequired = async (tenant: string): Promise<boolean> =>
    (await policies.get(tenant)).secondFactor === 'required'
  const people = createPeople({ ...options, passwords, throttle, isRequired, revocations: personRevocations })
  const outbound = createGuardedFetch({ clock, allowPrivate: options.allowPrivate })
  const { allowPrivateClients } = options
  const outboundForClients = createGuardedFetch({ clock, allowPrivate: allowPrivateClients })
  const clientMetadata = { ...outboundForClients, allowPrivate: allowPrivateClients, clock, count }
  const federation = openFederation(options, outbound.fetch)
  const rotation = openKeyRotation(options)
  const revocations = await openTokenRevocations({ registry, gateway, clock })
  const isRevoked: IsRevoked = ({ jti, sub, [REVOCATION_CLAIM]: named }) =>
    revocations.isRevoked(jti) || personRevocations.isRevoked(sub, jti, named)
  const { revoke } = revocations
  const refreshGrants = createRefreshGrants({ ...options, keyedHash: options.vault.keyedHash, revoke })
  const registeredClients = openRegisteredClients(options, revoke)
  for (const token of revocations.live()) await gateway.revokeToken(token)
  await gateway.revokePeople(personRevocations.live())
  await rotation.start()
  await federation.start()

  return {
    people,
    registeredClients,
    sessions: createSessions({ registry, refreshGrants, isRevoked, revoke, clock }),
    personRevocations,
    tokenRevocations: revocations,
    federation,
    rotation,
    providers: createIdentityProviders({ ...options, federation, people }),
    oauth: recordOauthAttempts({
      ...options,
      endpoints: createAuthorization({
        ...{ ...options, people, throttle, stores, revocations, refreshGrants, isRevoked, clientMetadata },
        registeredClients,
        federation: { ...federation, fetch: outbound.fetch, clock },
      }),
    }),
    issuePersonToken: openPersonTokens(options, refreshGrants, people),
    async close() {
      rotation.stop()
      federation.stop()
      await Promise.all([outbound.close(), outboundForClients.close()])
    },
  }
}

function openFederation(
  { registry, gateway, clock, log, count }: IdentityOptions,
  fetch: GuardedFetch['fetch'],
): Federation {
  return createFederation({
    registry,
    clock,
    log,
    count,
    providers: () => registeredProviders(registry),
    fetch,
    random: Math.random,
    publish: gateway.applyProviders,
  })
}

function openPersonTokens(
  options: IdentityOptions,
  refreshGrants: RefreshGrants,
  { grantPerson }: Pick<People, 'grantPerson'>,
): IssuePersonToken {
  const consumersOf = createConsumersOfPerson(options)
  return createPersonTokens({ ...options, refreshGrants, grantPerson, consumersOf, mint: createAccessTokens(options) })
}

function openRegisteredClients(options: IdentityOptions, revoke: TokenRevocations['revoke']): SelfRegisteredClients {
  const { allowsRegistration: isAllowed } = options
  return createSelfRegisteredClients({ ...options, isAllowed, endCodes: createEndCodes({ ...options, revoke }) })
}

function openKeyRotation({ keyRing, clock, log, count, publishKeys }: IdentityOptions): KeyRotation {
  return createKeyRotation({
    keyRing,
    clock,
    publish: ({ keys }) => publishKeys({ keys: keys.map((key) => ({ ...key })) }),
    onFailure(cause) {
      count('key_rotation_failed')
      log.error({ err: cause }, 'signing keys could not be rotated; retrying in a minute')
    },
  })
}
