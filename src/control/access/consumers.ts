/**
 * Consumers: the applications and agents that subscribe to APIs.
 *
 * When the command that disables a consumer returns, every gateway thread refuses its credentials and the tokens issued for them. A
 * consumer can be removed when all its subscriptions have ended; its usage keeps its name unless it is erased (`erasure.ts`).
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { NAME_KEY, toNameKey } from '../../storage/store/name-key.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { commit, find, toTime } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listAll, listByPrefix, listPage, type Page, type PageQuery } from '../command/page.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { SUBSCRIPTION_KIND } from '../subscriptions/document/subscription-document.ts'
import { refuseSubscribed } from '../subscriptions/document/live-subscriptions.ts'
import { announceConsumer, type AnnouncementOptions } from './announced-grants.ts'
import { keepAdmin } from './last-admin.ts'
import { refuseOwnConsumer } from './own-consumer.ts'
import { CONSUMER_ERASURE, eraseRemoved, erasureWrites, type ErasureOptions, type Removal } from './erasure.ts'
import {
  CONSUMER_KIND,
  consumerLock,
  consumerState,
  consumerWrite,
  type ConsumerBody,
  type ConsumerInput,
  type ConsumerState,
} from './consumer-document.ts'

export interface ConsumerChange extends Labelled {
  readonly name?: string
  /** Null removes it. */
  readonly contact?: string | null
  readonly exposure?: NonNullable<ConsumerInput['exposure']>
}

export interface Consumer extends ConsumerInput {
  readonly labels: Labels
  readonly id: string
  readonly exposure: NonNullable<ConsumerInput['exposure']>
  readonly state: ConsumerState
  readonly createdAt: string
}

export interface Consumers {
  create(author: Author, input: ConsumerInput): Promise<Consumer>
  get(tenant: string, id: string): Promise<Consumer>
  /** With `name`, the consumers whose name begins so, in the order of the names. */
  list(
    tenant: string,
    query: PageQuery & { readonly name?: string; readonly kind?: string; readonly state?: string },
  ): Promise<Page<Consumer>>
  update(author: Author, id: string, change: ConsumerChange): Promise<Consumer>
  /** Throws `Problem('state_conflict')` if the author is the consumer itself, which could not enable itself again. */
  disable(author: Author, id: string): Promise<Consumer>
  enable(author: Author, id: string): Promise<Consumer>
  /**
   * Throws `Problem('subscriptions_active')` if a subscription of the consumer has not ended. With `erase` its names are erased, also
   * if it was removed earlier.
   */
  remove(author: Author, id: string, removal?: Removal): Promise<void>
}

export interface ConsumersOptions extends AnnouncementOptions, ErasureOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly mutex: KeyedMutex
}

export function createConsumers(options: ConsumersOptions): Consumers {
  const { registry, createId, mutex } = options

  return {
    async create(author, input) {
      const id = createId('con')
      await commit(registry, author, 'consumer.create', [consumerWrite(id, author.tenant, 0, input)])
      return show(await find(registry, author.tenant, CONSUMER_KIND, id))
    },
    get: async (tenant, id) => show(await find(registry, tenant, CONSUMER_KIND, id)),
    list(tenant, { name, kind, state, ...query }) {
      const list = { registry, kind: CONSUMER_KIND, tenant, query, where: { kind, state }, show }
      if (name === undefined) return listPage(list)
      return listByPrefix({
        ...list,
        key: NAME_KEY,
        prefix: toNameKey(tenant, name),
        valueOf: ({ body }) => toNameKey(tenant, body.name),
      })
    },
    update: (author, id, { contact, ...members }) =>
      change(options, author, id, 'consumer.update', ({ contact: before, ...body }) => {
        const next = contact === undefined ? before : contact
        return { ...body, ...members, ...(typeof next === 'string' && { contact: next }) }
      }),
    async disable(author, id) {
      await refuseOwnConsumer(registry, author.tenant, id)
      if (author.consumer === id) throw refusedForSelf()
      const disabled = (body: ConsumerBody): ConsumerBody => ({ ...body, isDisabled: true })
      return change(options, author, id, 'consumer.disable', disabled, () => keepOtherAdmin(options, author.tenant, id))
    },
    enable: (author, id) => change(options, author, id, 'consumer.enable', ({ isDisabled: _, ...body }) => body),
    remove: (author, id, removal = {}) =>
      mutex.runExclusive([consumerLock(id)], () => remove(options, author, id, removal)),
  }
}

/** Commits a change of a consumer and sends its grants, which contain its name, to every gateway thread. */
function change(
  options: ConsumersOptions,
  author: Author,
  id: string,
  action: string,
  to: (body: ConsumerBody) => ConsumerBody,
  readMore: () => Promise<readonly Write[]> = async () => [],
): Promise<Consumer> {
  const { registry, mutex } = options
  const { tenant } = author
  return mutex.runExclusive([consumerLock(id)], async () => {
    const { revision, body } = await find(registry, tenant, CONSUMER_KIND, id)
    await commit(registry, author, action, [consumerWrite(id, tenant, revision, to(body)), ...(await readMore())])
    await announceConsumer(options, tenant, id)
    return show(await find(registry, tenant, CONSUMER_KIND, id))
  })
}

async function keepOtherAdmin(options: ConsumersOptions, tenant: string, consumer: string): Promise<readonly Write[]> {
  const where = { consumer, api: PLATFORM_API, state: 'Active' }
  const held = await Array.fromAsync(listAll(options.registry, SUBSCRIPTION_KIND, { tenant, where }))
  return keepAdmin(options, tenant, held)
}

async function remove(
  options: ConsumersOptions,
  author: Author,
  id: string,
  { erase = false }: Removal,
): Promise<void> {
  const { registry } = options
  const { tenant } = author
  const document = await registry.get(CONSUMER_KIND, id)
  if (document === null && erase) return eraseRemoved(options, CONSUMER_ERASURE, author, id)
  const { revision } = await find(registry, tenant, CONSUMER_KIND, id)
  await refuseOwnConsumer(registry, tenant, id)
  const detail = 'The consumer has subscriptions. Cancel them before you remove it.'
  await refuseSubscribed(registry, tenant, [{ consumer: id }], detail)
  const removal = { kind: CONSUMER_KIND, id, tenant, expected: revision, body: null }
  const erasure = erase ? await erasureWrites(options, CONSUMER_ERASURE, tenant, id) : []
  await commit(registry, author, 'consumer.remove', [removal, ...erasure])
}

function refusedForSelf(): Problem {
  return new Problem('state_conflict', 'A consumer cannot disable itself. Use a credential of another consumer.', {
    extensions: { state: 'Active', allowed: [] },
  })
}

function show({ id, body: stored, createdAtMs }: Document<ConsumerBody>): Consumer {
  const { isDisabled: _, ...body } = stored
  return {
    id,
    exposure: 'Public',
    ...body,
    labels: body.labels ?? {},
    state: consumerState(stored),
    createdAt: toTime(createdAtMs),
  }
}
