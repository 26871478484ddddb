/**
 * Subscriptions: who may use which API, by which credentials.
 *
 * Credentials are made with the subscription, in the same commit. Cancelling it, or revoking one of
 * them, has reached every gateway thread before the command answers.
 */

import { begin, step, type PersistedActor } from '../actors/step.ts'
import { subscription as machine, type SubscriptionEvent, type SubscriptionState } from '../actors/subscription.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Author, Document, Registry } from '../store/registry.ts'
import type { ApiBody } from './apis.ts'
import { commit, find, invalidAt, stateConflict, toTime } from './commands.ts'
import type { ConsumerBody } from './consumers.ts'
import {
  credentialWrite,
  newCredentialWrite,
  showCredential,
  type Credential,
  type CredentialBody,
  type Secrets,
} from './credential-document.ts'
import type { GatewayPort } from './gateway-port.ts'
import { toGrant } from './grants.ts'
import { subscriptionWrite, type SubscriptionBody } from './subscription-document.ts'
import { listPage, type Page, type PageQuery } from './page.ts'
import { PLATFORM_API, type PlatformOperation } from './platform-api.ts'
import { servingOrStaged, type ProxyBody } from './proxy-document.ts'
import type { Specifications } from './specifications.ts'
import { createSubscribedOperations, ofPlatform, type SubscribedOperation } from './subscribed-operations.ts'
import { Problem } from '../domain/problem.ts'

export interface SubscriptionInput {
  readonly consumer: string
  readonly api?: string
  readonly product?: string
  readonly slaVariant?: string
  readonly scopes?: readonly string[]
  readonly securityTypes?: readonly string[]
}

export interface Subscription {
  readonly id: string
  readonly consumer: string
  readonly ApiId: string | null
  readonly ApiProductId: string | null
  readonly state: SubscriptionState
  readonly slaVariant: string | null
  readonly scopes: readonly string[]
  readonly approvalFlow: string | null
  readonly createdAt: string
}

export interface Subscriptions {
  create(author: Author, input: SubscriptionInput): Promise<Subscription>
  get(tenant: string, id: string): Promise<Subscription>
  list(
    tenant: string,
    query: PageQuery & { consumer?: string; api?: string; state?: string },
  ): Promise<Page<Subscription>>
  cancel(author: Author, id: string): Promise<Subscription>
  /** Secrets in clear; the reading itself is audited. */
  credentials(author: Author, id: string): Promise<Page<Credential>>
  revokeCredential(author: Author, id: string, credential: string): Promise<void>
  operations(tenant: string, id: string): Promise<Page<SubscribedOperation>>
}

export interface SubscriptionsOptions extends Secrets {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'applyGrant'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly clock: Clock
  /** What a subscription to the platform's own API may call; it has no proxy that would tell. */
  readonly platformOperations?: readonly PlatformOperation[]
}

const TYPES = ['OAuth2', 'ApiKey'] as const
const CREDENTIAL_DAYS = 365
const DAY_MS = 86_400_000
const CREDENTIALS_MAX = 100

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { registry, gateway, specifications, vault, createId, clock, platformOperations = [] } = options
  const operationsOf = createSubscribedOperations({ registry, specifications })

  async function create(author: Author, input: SubscriptionInput): Promise<Subscription> {
    const { tenant } = author
    if (input.product !== undefined) throw invalidAt('/product', 'There is no such product.')
    if (input.api === undefined) throw invalidAt('/api', 'Say which API.')
    const consumer = await registry.get<ConsumerBody>('consumer', input.consumer)
    if (consumer?.tenant !== tenant) throw invalidAt('/consumer', 'There is no such consumer.')
    const declared = await declaredScopes(tenant, input.api)
    const foreign = (input.scopes ?? []).findIndex((scope) => !declared.includes(scope))
    if (foreign >= 0) throw invalidAt(`/scopes/${foreign}`, 'The API does not declare this scope.')
    const slaVariant = input.slaVariant ?? ''
    await checkVariant(input.api, tenant, slaVariant)

    const id = createId('sub')
    const scopes = [...new Set(input.scopes ?? declared)]
    const actor = tell(begin(machine, undefined), { type: 'approved' })
    const body: SubscriptionBody = {
      consumer: input.consumer,
      api: input.api,
      apiProductId: '',
      actor,
      slaVariant,
      scopes,
    }
    const expiresAtMs = clock.nowMs() + CREDENTIAL_DAYS * DAY_MS
    const credentials = typesOf(input).map((type) =>
      newCredentialWrite(options, { tenant, subscription: id, type, scopes, expiresAtMs }),
    )
    await commit(registry, author, 'subscription.create', [subscriptionWrite(id, tenant, 0, body), ...credentials])
    return get(tenant, id)
  }

  async function declaredScopes(tenant: string, api: string): Promise<readonly string[]> {
    const entry = await registry.get<ApiBody>('api', api)
    if (entry === null || entry.tenant !== tenant) throw invalidAt('/api', 'There is no such API.')
    if (entry.body.state === 'Retired')
      throw new Problem('state_conflict', 'The API is retired.', { extensions: { state: 'Retired', allowed: [] } })
    if (entry.body.ownScopes !== undefined) return entry.body.ownScopes
    const proxy = await registry.find<ProxyBody>('proxy', 'api', api)
    const deployment = proxy === null ? null : servingOrStaged(proxy.body)
    if (deployment === null) throw invalidAt('/api', 'The API has no revision yet.')
    return deployment.declaredScopes
  }

  async function checkVariant(api: string, tenant: string, variant: string): Promise<void> {
    if (variant === '') return
    const declared = await registry.list<{ variant: string }>('openslaspec', {
      tenant,
      where: { api, inForce: 'true' },
      limit: 500,
    })
    if (!declared.some(({ body }) => body.variant === variant))
      throw invalidAt('/slaVariant', 'No declaration in force has this variant.')
  }

  async function cancel(author: Author, id: string): Promise<Subscription> {
    const current = await find<SubscriptionBody>(registry, author.tenant, 'subscription', id)
    const body = { ...current.body, actor: tell(current.body.actor, { type: 'cancelled' }) }
    await commit(registry, author, 'subscription.cancel', [
      subscriptionWrite(id, author.tenant, current.revision, body),
    ])
    await announce(author.tenant, id)
    return get(author.tenant, id)
  }

  async function revokeCredential(author: Author, id: string, credential: string): Promise<void> {
    await find<SubscriptionBody>(registry, author.tenant, 'subscription', id)
    const current = await find<CredentialBody>(registry, author.tenant, 'credential', credential)
    if (current.body.subscription !== id) throw new Problem('not_found', 'The subscription has no such credential.')
    const body = { ...current.body, state: 'Revoked' } as const
    await commit(registry, author, 'credential.revoke', [
      credentialWrite(credential, author.tenant, current.revision, body),
    ])
    await announce(author.tenant, id)
  }

  /** Tells every thread what the credentials of a subscription open now; done when all know. */
  async function announce(tenant: string, id: string): Promise<void> {
    for (const credential of await credentialsOf(tenant, id)) {
      const grant = await toGrant(registry, credential)
      if (grant !== null) await gateway.applyGrant(grant)
    }
  }

  function credentialsOf(tenant: string, subscription: string): Promise<readonly Document<CredentialBody>[]> {
    return registry.list<CredentialBody>('credential', { tenant, where: { subscription }, limit: CREDENTIALS_MAX })
  }

  async function operations(tenant: string, id: string): Promise<Page<SubscribedOperation>> {
    const { body } = await find<SubscriptionBody>(registry, tenant, 'subscription', id)
    const items =
      body.api === PLATFORM_API ? ofPlatform(platformOperations, body.scopes) : await operationsOf(tenant, body)
    return { items, next: null }
  }

  async function get(tenant: string, id: string): Promise<Subscription> {
    return show(await find<SubscriptionBody>(registry, tenant, 'subscription', id))
  }

  return {
    create,
    get,
    cancel,
    revokeCredential,
    operations,
    list: (tenant, query) => {
      const { consumer, api, state } = query
      return listPage<SubscriptionBody, Subscription>({
        registry,
        kind: 'subscription',
        tenant,
        query,
        where: { consumer, api, state },
        show,
      })
    },
    async credentials(author, id) {
      const current = await find<SubscriptionBody>(registry, author.tenant, 'subscription', id)
      const credentials = await credentialsOf(current.tenant, id)
      await registry.audit(author, 'credentials.read', { kind: 'subscription', id, tenant: current.tenant })
      return { items: credentials.map((credential) => showCredential(credential, vault, clock.nowMs())), next: null }
    },
  }
}

function tell(actor: PersistedActor, event: SubscriptionEvent): PersistedActor {
  const result = step(machine, actor, event)
  if ('refused' in result) throw stateConflict(result.refused)
  return result.next
}

function typesOf({ securityTypes = TYPES }: SubscriptionInput): readonly (typeof TYPES)[number][] {
  return [...new Set(securityTypes)].map((type, index) => {
    const known = TYPES.find((each) => each === type)
    if (known === undefined) throw invalidAt(`/securityTypes/${index}`, `Known are ${TYPES.join(', ')}.`)
    return known
  })
}

function show({ id, body, createdAtMs }: Document<SubscriptionBody>): Subscription {
  return {
    id,
    consumer: body.consumer,
    ApiId: body.api === '' ? null : body.api,
    ApiProductId: body.apiProductId === '' ? null : body.apiProductId,
    state: body.actor.value as SubscriptionState,
    slaVariant: body.slaVariant === '' ? null : body.slaVariant,
    scopes: body.scopes,
    approvalFlow: null,
    createdAt: toTime(createdAtMs),
  }
}
