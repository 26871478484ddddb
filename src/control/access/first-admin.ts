/**
 * Creates the first credential: all scopes of the platform API, for a consumer called admin.
 *
 * The first start creates it in one commit, and later starts find it. If the operator chooses a client id
 * (`ADMIN_CLIENT_ID`), that id is used. An id that is new on a later start replaces the previous admin credentials, which
 * are revoked in the same commit; a known id gets the secret that is set now. Nothing else restores a revoked credential
 * or a cancelled subscription.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { API_KIND, apiWrite, type ApiBody } from '../publishing/apis.ts'
import {
  CREDENTIAL_KIND,
  credentialWrite,
  newCredentialWrite,
  type CredentialBody,
  type Secrets,
} from './credential-document.ts'
import { ensureOwnConsumers, newOwnConsumer, scopesOfTenants } from './own-consumer.ts'
import { widenAdmins } from './widened-admins.ts'
import { newPlatformSubscription, newTenantWrites, toPlatformCredential } from './platform-access.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { newOwner } from './owner-link.ts'
import type { Invitation } from './people/one-time-links.ts'
import { migrateScopes } from './scope-migration.ts'
import { ADMIN_DOCUMENTS_MAX, revokeAll, subscriptionsOfAdmin } from './admin-replacement.ts'
import {
  SUBSCRIPTION_KIND,
  subscriptionWrite,
  type SubscriptionBody,
} from '../subscriptions/document/subscription-document.ts'

export interface FirstAdminOptions extends Secrets {
  readonly registry: Registry
  readonly clock: Clock
  readonly tenant: string
  /** Every scope of the platform API; scopes of a new version are added to the admin's. */
  readonly scopes: readonly string[]
  readonly chosen: { readonly clientId: string; readonly clientSecret: string } | null
  readonly gatewayUrl: string
}

export interface MadeAdmin {
  readonly clientId: string
  /** Null if the operator chose it, and so knows it. */
  readonly clientSecret: string | null
}

export interface FirstAdmin {
  /** Null if the credential was created on an earlier start. */
  readonly made: MadeAdmin | null
  readonly consumer: string
  /** The link with which the first owner sets a password; missing if the owner was created on an earlier start. */
  readonly ownerLink?: Invitation
  /** Client ids that this start revoked, because the operator named another credential. */
  readonly replaced: readonly string[]
}

export async function createFirstAdmin(options: FirstAdminOptions): Promise<FirstAdmin> {
  const { registry, vault, createId, tenant, chosen } = options
  const author: Author = { tenant, consumer: 'system' }
  const entry = await registry.get(API_KIND, PLATFORM_API)
  if (entry !== null && entry.tenant !== tenant) {
    throw new StartRefused(
      `ADMIN_TENANT is ${tenant}, but this data folder was set up for ${entry.tenant}; name that one`,
    )
  }
  const save = async (writes: readonly Write[]): Promise<void> => {
    if (writes.length > 0) await registry.commit(author, 'platform.start', writes)
  }
  // Before the entry, so that a start that was interrupted is repeated.
  const stored = entry?.body.ownScopes ?? []
  if (entry !== null) await migrateScopes({ registry, author, before: stored, after: options.scopes })
  const before = scopesOfTenants(stored)
  const after = scopesOfTenants(options.scopes)
  if (before.length > 0) await widenAdmins({ registry, operator: tenant, before, scopes: after })
  await ensureOwnConsumers({ ...options, operator: tenant })
  const held = await subscriptionsOfAdmin(registry, tenant)
  const holder = held[0]?.body.consumer
  if (holder === undefined) {
    const consumer = createId('con')
    const { subscription, credential } = newPlatformSubscription(options, consumer)
    const { owner, ownerLink } = newOwner(options)
    const own = newOwnConsumer(createId, tenant, options.scopes)
    const members = newTenantWrites(tenant, { name: tenant, ownConsumer: own.id }, consumer)
    const access = [...members, subscription, credential, ...own.writes, owner]
    await save([...entryWrites(options, entry), ...access])
    const { clientId, clientSecret } = credential.body as CredentialBody
    const made = { clientId, clientSecret: chosen === null ? vault.decrypt(clientSecret, credential.id) : null }
    return { made, consumer, ownerLink, replaced: [] }
  }
  const current = held.find(({ body }) => body.actor.value === 'Active')
  await save([...entryWrites(options, entry), ...(current === undefined ? [] : await widened(options, current))])
  if (current !== undefined) {
    const { writes, replaced } = await chosenWrites(options, current.id)
    await save(writes)
    return { made: null, consumer: holder, replaced }
  }
  if (chosen !== null && (await known(options)) === null) {
    const { subscription, credential } = newPlatformSubscription(options, holder)
    await save([subscription, credential])
  }
  return { made: null, consumer: holder, replaced: [] }
}

function entryWrites({ tenant, scopes }: FirstAdminOptions, entry: Document<ApiBody> | null): Write[] {
  if (entry !== null && isSame(entry.body.ownScopes ?? [], scopes)) return []
  return [
    apiWrite(PLATFORM_API, tenant, entry?.revision ?? 0, {
      title: 'Platform',
      major: 1,
      version: '1.0.0',
      state: 'Active',
      owner: 'system',
      complianceScore: null,
      programme: null,
      retirementDate: null,
      successor: null,
      ownScopes: scopes,
    }),
  ]
}

/** Adds the scopes of a new version to the admin's subscription and credentials. */
async function widened(
  { registry, tenant, scopes }: FirstAdminOptions,
  { id, revision, body }: Document<SubscriptionBody>,
): Promise<Write[]> {
  if (isSame(body.scopes, scopes)) return []
  const where = { subscription: id }
  const credentials = await registry.list(CREDENTIAL_KIND, { tenant, where, limit: ADMIN_DOCUMENTS_MAX })
  return [
    subscriptionWrite(id, tenant, revision, { ...body, scopes }),
    ...credentials.map((each) => credentialWrite(each.id, tenant, each.revision, { ...each.body, scopes })),
  ]
}

interface Chosen {
  readonly writes: readonly Write[]
  readonly replaced: readonly string[]
}

const NOTHING: Chosen = { writes: [], replaced: [] }

/** Creates the credential that the operator chose in place of the previous ones, or updates its secret. */
async function chosenWrites(options: FirstAdminOptions, subscription: string): Promise<Chosen> {
  const { vault, chosen, registry, createId, tenant } = options
  if (chosen === null) return NOTHING
  const credential = await known(options)
  if (credential === null) {
    const old = await revokeAll(registry, createId, tenant, subscription)
    const made = newCredentialWrite(options, { ...toPlatformCredential(options), subscription, chosen })
    return { writes: [made, ...old.writes], replaced: old.clientIds }
  }
  const { id, revision, body } = credential
  if (body.subscription !== subscription || body.state !== 'Active') return NOTHING
  const secretHash = vault.keyedHash(chosen.clientSecret)
  if (body.secretHash === secretHash) return NOTHING
  const clientSecret = vault.encrypt(chosen.clientSecret, id)
  return { writes: [credentialWrite(id, tenant, revision, { ...body, clientSecret, secretHash })], replaced: [] }
}

/** Returns the credential with the chosen client id. Throws `StartRefused` if it belongs to another subscription. */
async function known({ registry, chosen, tenant }: FirstAdminOptions): Promise<Document<CredentialBody> | null> {
  if (chosen === null) return null
  const credential = await registry.find(CREDENTIAL_KIND, 'clientId', chosen.clientId)
  if (credential === null) return null
  const subscription = await registry.get(SUBSCRIPTION_KIND, credential.body.subscription)
  if (credential.tenant !== tenant || subscription?.body.api !== PLATFORM_API) {
    throw new StartRefused('ADMIN_CLIENT_ID names a client of another subscription; choose another name')
  }
  return credential
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
