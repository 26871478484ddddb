/**
 * The first credential: all scopes of the platform API, for a consumer called admin.
 *
 * Made once, in one commit; a later start finds it. Where the operator names the credential, it is made
 * to that name, also later: a lost secret is replaced by naming another.
 */

import type { Clock } from '../runtime/clock.ts'
import type { Author, Registry, Write } from '../store/registry.ts'
import { begin, step } from '../actors/step.ts'
import { subscription as machine } from '../actors/subscription.ts'
import type { ApiBody } from './apis.ts'
import { credentialWrite, newCredentialWrite, type CredentialBody, type Secrets } from './credential-document.ts'
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

const LIFETIME_MS = 10 * 365 * 86_400_000

export async function createFirstAdmin(options: FirstAdminOptions): Promise<FirstAdmin> {
  const { registry, vault, createId, clock, tenant, scopes, chosen } = options
  const author: Author = { tenant, consumer: 'system' }
  const entry = await registry.get<ApiBody>('api', PLATFORM_API)
  const existing = await registry.find<SubscriptionBody>('subscription', 'api', PLATFORM_API)
  const expiresAtMs = clock.nowMs() + LIFETIME_MS
  const api: ApiBody = {
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
  }
  const entryWrite: Write = {
    kind: 'api',
    id: PLATFORM_API,
    tenant,
    expected: entry?.revision ?? 0,
    body: api,
    keys: { state: 'Active' },
  }

  if (existing !== null) {
    const writes: Write[] = []
    if (JSON.stringify(entry?.body.ownScopes) !== JSON.stringify(scopes))
      writes.push(entryWrite, ...(await widened(existing.id)))
    if (chosen !== null && (await registry.find('credential', 'clientId', chosen.clientId)) === null) {
      writes.push(
        newCredentialWrite(options, { tenant, subscription: existing.id, type: 'OAuth2', scopes, expiresAtMs, chosen }),
      )
    }
    if (writes.length > 0) await registry.commit(author, 'platform.start', writes)
    return { made: null, consumer: existing.body.consumer }
  }

  const consumer = createId('con')
  const subscription = createId('sub')
  const approved = step(machine, begin(machine, undefined), { type: 'approved' })
  if ('refused' in approved) throw new Error('a new subscription cannot be approved')
  const body: SubscriptionBody = {
    consumer,
    api: PLATFORM_API,
    apiProductId: '',
    actor: approved.next,
    slaVariant: '',
    scopes,
  }
  const credential = newCredentialWrite(options, {
    tenant,
    subscription,
    type: 'OAuth2',
    scopes,
    expiresAtMs,
    ...(chosen && { chosen }),
  })
  await registry.commit(author, 'platform.start', [
    { kind: 'tenant', id: tenant, tenant, expected: 0, body: { name: tenant } },
    entryWrite,
    {
      kind: 'consumer',
      id: consumer,
      tenant,
      expected: 0,
      body: { name: 'admin', kind: 'application' },
      keys: { kind: 'application' },
    },
    subscriptionWrite(subscription, tenant, 0, body),
    credential,
  ])
  const { clientId, clientSecret } = credential.body as CredentialBody
  return { made: { clientId, clientSecret: vault.decrypt(clientSecret, credential.id) }, consumer }

  /** A version that brings scopes brings them to the admin's credentials too. */
  async function widened(subscription: string): Promise<Write[]> {
    const credentials = await registry.list<CredentialBody>('credential', { where: { subscription }, limit: 100 })
    return credentials.map(({ id, revision, body }) => credentialWrite(id, tenant, revision, { ...body, scopes }))
  }
}
