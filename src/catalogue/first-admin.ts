/**
 * The first credential: all scopes of the platform API, for a consumer called admin.
 *
 * Made once, in one commit; a later start finds it. Where the operator names the credential, it is made
 * to that name, also later: a lost secret is replaced by naming another, and a subscription that was
 * cancelled by one of its own. What was revoked or cancelled comes back in no other way.
 */

import type { Clock } from '../runtime/clock.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import type { Author, Document, Registry, Write } from '../store/registry.ts'
import { apiWrite, type ApiBody } from './apis.ts'
import { credentialWrite, newCredentialWrite, type CredentialBody, type Secrets } from './credential-document.ts'
import { newPlatformSubscription, newTenantWrites, toPlatformCredential } from './platform-access.ts'
import { PLATFORM_API } from './platform-api.ts'
import { subscriptionWrite, type SubscriptionBody } from './subscription-document.ts'

export interface FirstAdminOptions extends Secrets {
  readonly registry: Registry
  readonly clock: Clock
  readonly tenant: string
  /** Every scope of the platform API; new ones are added to what is there. */
  readonly scopes: readonly string[]
  readonly chosen: { readonly clientId: string; readonly clientSecret: string } | null
}

export interface FirstAdmin {
  /** Null where the credential was made on an earlier start. */
  readonly made: { readonly clientId: string; readonly clientSecret: string } | null
  readonly consumer: string
}

/** Subscriptions that one after the other were the admin's. */
const SUBSCRIPTIONS_MAX = 100

export async function createFirstAdmin(options: FirstAdminOptions): Promise<FirstAdmin> {
  const { registry, vault, createId, tenant, chosen } = options
  const author: Author = { tenant, consumer: 'system' }
  const entry = await registry.get<ApiBody>('api', PLATFORM_API)
  if (entry !== null && entry.tenant !== tenant) {
    throw new StartRefused(
      `ADMIN_TENANT is ${tenant}, but this data folder was set up for ${entry.tenant}; name that one`,
    )
  }
  const save = async (writes: readonly Write[]): Promise<void> => {
    if (writes.length > 0) await registry.commit(author, 'platform.start', writes)
  }
  const held = await subscriptionsOfAdmin(registry, tenant)
  const before = held[0]?.body.consumer
  if (before === undefined) {
    const consumer = createId('con')
    const { subscription, credential } = newPlatformSubscription(options, consumer)
    await save([...entryWrites(options, entry), ...newTenantWrites(tenant, tenant, consumer), subscription, credential])
    const { clientId, clientSecret } = credential.body as CredentialBody
    return { made: { clientId, clientSecret: vault.decrypt(clientSecret, credential.id) }, consumer }
  }
  const current = held.find(({ body }) => body.actor.value === 'Active')
  await save([...entryWrites(options, entry), ...(current === undefined ? [] : await widened(options, current))])
  if (current !== undefined) await save(await chosenWrites(options, current.id))
  else if (chosen !== null && (await known(options)) === null) {
    const { subscription, credential } = newPlatformSubscription(options, before)
    await save([subscription, credential])
  }
  return { made: null, consumer: before }
}

async function subscriptionsOfAdmin(
  registry: Registry,
  tenant: string,
): Promise<readonly Document<SubscriptionBody>[]> {
  // The oldest is the admin's; other tenants have theirs.
  const platform = { tenant, where: { api: PLATFORM_API }, limit: 1 }
  const [first] = await registry.list<SubscriptionBody>('subscription', platform)
  if (first === undefined) return []
  const where = { api: PLATFORM_API, consumer: first.body.consumer }
  return registry.list<SubscriptionBody>('subscription', { tenant, where, limit: SUBSCRIPTIONS_MAX })
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

/** A version that brings scopes brings them to the admin's subscription and credentials too. */
async function widened(
  { registry, tenant, scopes }: FirstAdminOptions,
  { id, revision, body }: Document<SubscriptionBody>,
): Promise<Write[]> {
  if (isSame(body.scopes, scopes)) return []
  const where = { subscription: id }
  const credentials = await registry.list<CredentialBody>('credential', { tenant, where, limit: SUBSCRIPTIONS_MAX })
  return [
    subscriptionWrite(id, tenant, revision, { ...body, scopes }),
    ...credentials.map((each) => credentialWrite(each.id, tenant, each.revision, { ...each.body, scopes })),
  ]
}

/** Makes the credential that the operator names, or gives it the secret that is named now. */
async function chosenWrites(options: FirstAdminOptions, subscription: string): Promise<Write[]> {
  const { vault, chosen } = options
  if (chosen === null) return []
  const credential = await known(options)
  if (credential === null)
    return [newCredentialWrite(options, { ...toPlatformCredential(options), subscription, chosen })]
  const { id, tenant, revision, body } = credential
  if (body.subscription !== subscription || body.state !== 'Active') return []
  const secretHash = vault.keyedHash(chosen.clientSecret)
  if (body.secretHash === secretHash) return []
  const clientSecret = vault.encrypt(chosen.clientSecret, id)
  return [credentialWrite(id, tenant, revision, { ...body, clientSecret, secretHash })]
}

/** The credential that carries the chosen name. Throws `StartRefused` where it is another client's. */
async function known({ registry, chosen, tenant }: FirstAdminOptions): Promise<Document<CredentialBody> | null> {
  if (chosen === null) return null
  const credential = await registry.find<CredentialBody>('credential', 'clientId', chosen.clientId)
  if (credential === null) return null
  const subscription = await registry.get<SubscriptionBody>('subscription', credential.body.subscription)
  if (credential.tenant !== tenant || subscription?.body.api !== PLATFORM_API) {
    throw new StartRefused('ADMIN_CLIENT_ID names a client of another subscription; choose a name of its own')
  }
  return credential
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
