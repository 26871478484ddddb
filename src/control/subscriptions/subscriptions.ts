/**
 * Subscriptions of consumers to APIs and products, with their credentials.
 *
 * Credentials are created in the same commit as the subscription and grant access once it is Active. A change that
 * removes access (cancel, suspend, fewer scopes) has reached every gateway thread before the command returns.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import type { SubscriptionEvent } from './document/subscription-machine.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Registry, Write } from '../../storage/store/registry.ts'
import {
  APPROVAL_KIND,
  deciderOf,
  movedFlow,
  openFlow,
  stateOfFlow,
  stepFlow,
  withdrawnFlows,
} from '../approvals/approval-document.ts'
import type { Capacity } from './capacity.ts'
import { checkClient, toClientTerms, type ClientInput, type ClientTerms } from './client-terms.ts'
import { commit, find, invalidAt, notFound, stateConflict } from '../command/commands.ts'
import { checkConsumerEnabled, CONSUMER_KIND, consumerLock } from '../access/consumer-document.ts'
import { credentialWrite, newCredentialWrite, type Secrets } from '../access/credential-document.ts'
import { firstWarningWrite } from '../access/credential-expiry.ts'
import type { Credentials } from '../access/credentials.ts'
import { refuseOwnAccess } from '../access/own-consumer.ts'
import { waitlisted } from '../command/event-outbox.ts'
import type { LimitBook } from '../../boundary/plan/limit-book.ts'
import type { PlatformOperation } from '../../foundation/domain/platform-api.ts'
import { policyOfSubscribed } from '../publishing/api-policy.ts'
import type { DocumentReader } from '../publishing/document-reader.ts'
import type { Specifications } from '../publishing/specifications.ts'
import { createSubscriptionReader, type Subscription, type SubscriptionReader } from './subscription-reader.ts'
import {
  pendingSubscription,
  stepSubscription,
  SUBSCRIPTION_KIND,
  subscriptionWrite,
  type SubscriptionBody,
} from './document/subscription-document.ts'
import { expiryWrites, toExpiryMs } from './subscription-expiry.ts'
import { changedBody, isLess, type SubscriptionChange } from './subscription-change.ts'
import type { HeldScopes } from '../access/held-scopes.ts'
import { keepAdmin } from '../access/last-admin.ts'
import { createSubscriptionTerms, type SubscriptionTerms, type Terms, type TermsInput } from './subscription-terms.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface SubscriptionInput extends TermsInput, ClientInput, Labelled {
  readonly consumer: string
  readonly contact?: string
  readonly expiresAt?: string
}

interface ScopeSetter {
  readonly held: HeldScopes
  /** Whether the consumer itself sets the scopes, and not its provider. */
  readonly isConsumer: boolean
}

export interface Subscriptions extends SubscriptionReader {
  create(author: Author, input: SubscriptionInput, held?: HeldScopes): Promise<Subscription>
  /** Throws `Problem('state_conflict')` if the subscription has ended. */
  update(author: Author, id: string, change: SubscriptionChange): Promise<Subscription>
  cancel(author: Author, id: string): Promise<Subscription>
  suspend(author: Author, id: string): Promise<Subscription>
  resume(author: Author, id: string): Promise<Subscription>
  setScopes(author: Author, id: string, scopes: readonly string[], by?: ScopeSetter): Promise<Subscription>
  /** Throws `Problem('not_found')` unless the subscription belongs to the consumer. */
  checkOwner(tenant: string, id: string, consumer: string): Promise<void>
}

export interface SubscriptionsOptions extends Secrets {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'compile'>
  readonly credentials: Pick<Credentials, 'of' | 'announce'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly capacity: Capacity
  readonly limits: LimitBook
  /** The operations of the platform API, which has no proxy. */
  readonly platformOperations?: readonly PlatformOperation[] | undefined
}

interface Context extends SubscriptionsOptions {
  readonly get: SubscriptionReader['get']
  readonly terms: SubscriptionTerms
}

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { registry, clock, mutex, capacity, platformOperations = [] } = options
  const reader = createSubscriptionReader({ ...options, platformOperations })
  const context: Context = { ...options, get: reader.get, terms: createSubscriptionTerms({ registry }) }

  return {
    ...reader,
    create(author, input, held) {
      const { federated } = input
      const createExclusive = () => capacity.runExclusive(author.tenant, () => create(context, author, input, held))
      // The lock of the consumer keeps it from being removed while its subscription is created.
      const locks = [consumerLock(input.consumer)]
      if (federated !== undefined) locks.push(JSON.stringify([author.tenant, federated.issuer, federated.clientId]))
      return mutex.runExclusive(locks, createExclusive)
    },
    update: (author, id, members) => update(context, author, id, members),
    cancel: async (author, id) =>
      send(context, author, id, 'cancelled', await withdrawnFlows(registry, author.tenant, id, clock.nowMs())),
    suspend: (author, id) => send(context, author, id, 'suspended'),
    resume: (author, id) => resume(context, author, id),
    setScopes: (author, id, scopes, by = { held: null, isConsumer: false }) =>
      setScopes(context, author, id, scopes, by),
    async checkOwner(tenant, id, consumer) {
      const { body } = await find(registry, tenant, SUBSCRIPTION_KIND, id)
      if (body.consumer !== consumer) throw notFound(SUBSCRIPTION_KIND, id)
    },
  }
}

async function create(
  context: Context,
  author: Author,
  input: SubscriptionInput,
  held: HeldScopes = null,
): Promise<Subscription> {
  const { registry, credentials, createId, capacity } = context
  const { tenant } = author
  const consumer = await registry.get(CONSUMER_KIND, input.consumer)
  if (consumer?.tenant !== tenant) throw invalidAt('/consumer', 'The consumer does not exist.')
  checkConsumerEnabled(consumer.body)
  const terms = await context.terms.of(tenant, input, held)
  const client = await toClientTerms(registry, tenant, input)
  await checkClient(context, tenant, terms, client)
  const id = createId('sub')
  const nowMs = context.clock.nowMs()
  const expiresAtMs = input.expiresAt === undefined ? undefined : toExpiryMs(input.expiresAt, nowMs)
  const { policy, ...subscribed } = terms
  const pending = pendingSubscription()
  const isAuto = policy.subscriptionApproval === 'Auto'
  const hasCapacity = !isAuto || (await capacity.isOpenTo(tenant, subscribed))
  const body: SubscriptionBody = {
    consumer: input.consumer,
    ...subscribed,
    actor: isAuto ? stepSubscription(pending, hasCapacity ? 'approved' : 'capacity.short') : pending,
    redirectUris: client.redirectUris,
    ...(input.contact !== undefined && { contact: input.contact }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(input.labels !== undefined && { labels: input.labels }),
    ...(!isAuto && { approvalFlow: createId('apf') }),
  }
  await commit(registry, author, 'subscription.create', [
    subscriptionWrite(id, tenant, 0, body),
    ...flowOf(context, author, id, body),
    ...(hasCapacity ? [] : [waitlisted(createId, tenant, id, body)]),
    ...credentialsOf(context, tenant, id, terms, client),
    ...(expiresAtMs === undefined ? [] : await expiryWrites(registry, { id, tenant }, expiresAtMs, nowMs)),
  ])
  // A thread may have cached that this client has no grant.
  if (client.federated !== null) await credentials.announce(id)
  return context.get(tenant, id)
}

/** Opens an approval flow if the policy of the API requires one. */
function flowOf(context: Context, author: Author, subscription: string, { approvalFlow }: SubscriptionBody): Write[] {
  const { clock } = context
  if (approvalFlow === undefined) return []
  const requester = deciderOf(author)
  const flow = { kind: 'subscription', subscription, requester, slaVariant: null, reason: null } as const
  return openFlow(approvalFlow, author.tenant, flow, clock.nowMs())
}

function credentialsOf(
  context: Context,
  tenant: string,
  subscription: string,
  terms: Terms,
  { types, federated, certificateThumbprint }: ClientTerms,
): Write[] {
  const { clock } = context
  const { scopes, apiProductId, policy } = terms
  const nowMs = clock.nowMs()
  const expiresAtMs = nowMs + policy.credentialLifetimeDays * DAY_MS
  const shared = { tenant, subscription, scopes, apiProductId, expiresAtMs, federated, certificateThumbprint }
  return types.flatMap((type) => {
    const write = newCredentialWrite(context, { ...shared, type })
    return [write, firstWarningWrite(write.id, tenant, expiresAtMs, nowMs)]
  })
}

/** Commits a change of one subscription and sends its grants to every gateway thread. */
async function change(
  context: Context,
  author: Author,
  id: string,
  action: string,
  to: (body: SubscriptionBody) => SubscriptionBody,
  more: readonly Write[] = [],
): Promise<Subscription> {
  const { registry, credentials } = context
  const { tenant } = author
  const current = await find(registry, tenant, SUBSCRIPTION_KIND, id)
  await refuseOwnAccess(registry, current)
  const next = to(current.body)
  const kept = await keepAdmin(context, tenant, isLess(next, current.body) ? [current] : [])
  await commit(registry, author, action, [subscriptionWrite(id, tenant, current.revision, next), ...more, ...kept])
  await credentials.announce(id)
  return context.get(tenant, id)
}

async function update(
  context: Context,
  author: Author,
  id: string,
  members: SubscriptionChange,
): Promise<Subscription> {
  const { registry, clock } = context
  const { tenant, body } = await find(registry, author.tenant, SUBSCRIPTION_KIND, id)
  if (body.actor.status === 'done') throw stateConflict({ state: String(body.actor.value), allowed: [] })
  const nowMs = clock.nowMs()
  const { expiresAt } = members
  const due = typeof expiresAt === 'string' ? toExpiryMs(expiresAt, nowMs) : null
  const writes = due === null ? [] : await expiryWrites(registry, { id, tenant }, due, nowMs)
  return change(context, author, id, 'subscription.update', (current) => changedBody(current, members), writes)
}

async function send(
  context: Context,
  author: Author,
  id: string,
  type: SubscriptionEvent['type'],
  more: readonly Write[] = [],
): Promise<Subscription> {
  const { credentials } = context
  const apply = (body: SubscriptionBody): SubscriptionBody => ({ ...body, actor: stepSubscription(body.actor, type) })
  try {
    return await change(context, author, id, `subscription.${type}`, apply, more)
  } catch (cause) {
    // An earlier command may have committed the change without reaching every thread, so a retry sends the grants again.
    if (cause instanceof Problem && cause.code === 'state_conflict') await credentials.announce(id)
    throw cause
  }
}

/** Checks the capacity again, because the suspension released it. */
async function resume(context: Context, author: Author, id: string): Promise<Subscription> {
  const { registry, capacity } = context
  const { body } = await find(registry, author.tenant, SUBSCRIPTION_KIND, id)
  if (body.actor.value !== 'Suspended') return send(context, author, id, 'resumed')
  return capacity.runExclusive(author.tenant, async () => {
    if (await capacity.isOpenTo(author.tenant, body)) return send(context, author, id, 'resumed')
    const extensions = { state: 'Suspended', allowed: ['cancel'] as const }
    throw new Problem('state_conflict', 'The API has no free capacity at the moment.', { extensions })
  })
}

async function setScopes(
  context: Context,
  author: Author,
  id: string,
  requested: readonly string[],
  { held, isConsumer }: ScopeSetter,
): Promise<Subscription> {
  const { registry, credentials } = context
  const { tenant } = author
  const { body } = await find(registry, tenant, SUBSCRIPTION_KIND, id)
  // Checked first: a subscription that has ended cannot change.
  if (body.actor.status === 'done') throw stateConflict({ state: String(body.actor.value), allowed: [] })
  const scopes = [...new Set(requested)]
  if (isConsumer) await checkNoneAdded(context, body, scopes)
  await context.terms.checkScopes(tenant, body, scopes, held)
  const credentialWrites = (await credentials.of(tenant, id)).map((credential) =>
    credentialWrite(credential.id, tenant, credential.revision, { ...credential.body, scopes }),
  )
  const resubmitted = await resubmittedFlow(context, tenant, body)
  return change(context, author, id, 'subscription.scopes', (current) => ({ ...current, scopes }), [
    ...credentialWrites,
    ...resubmitted,
  ])
}

/** A consumer cannot add scopes without an approval. */
async function checkNoneAdded({ registry }: Context, body: SubscriptionBody, scopes: readonly string[]): Promise<void> {
  if (body.actor.value === 'Pending' || scopes.every((scope) => body.scopes.includes(scope))) return
  const { subscriptionApproval } = await policyOfSubscribed(registry, body)
  if (subscriptionApproval === 'Auto') return
  throw new Problem('operation_forbidden', 'The provider approves the scopes of this API. You can only remove scopes.')
}

/** Resubmits the flow if an amendment was requested. */
async function resubmittedFlow(context: Context, tenant: string, { approvalFlow }: SubscriptionBody): Promise<Write[]> {
  const { registry, clock } = context
  if (approvalFlow === undefined) return []
  const flow = await find(registry, tenant, APPROVAL_KIND, approvalFlow)
  if (stateOfFlow(flow.body) !== 'AmendmentRequired') return []
  const body = { ...flow.body, actor: stepFlow(flow.body, { type: 'resubmitted' }) }
  return movedFlow(registry, flow, body, clock.nowMs())
}
