/** Consumers: the applications and agents that subscribe to APIs. */

import type { CreateId } from '../runtime/ids.ts'
import { documentKind, type Author, type Document, type Registry } from '../store/registry.ts'
import { commit, find, toTime } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export interface ConsumerInput {
  readonly name: string
  readonly kind: 'application' | 'agent'
  readonly contact?: string
  /** The widest exposure of the APIs that the consumer sees; missing: `Public`. */
  readonly exposure?: 'Internal' | 'Partner' | 'Public'
}

export interface Consumer extends ConsumerInput {
  readonly id: string
  readonly exposure: NonNullable<ConsumerInput['exposure']>
  readonly createdAt: string
}

export type ConsumerBody = ConsumerInput

export const CONSUMER_KIND = documentKind<ConsumerBody>('consumer', ['name', 'kind', 'contact', 'exposure'])

export interface Consumers {
  create(author: Author, input: ConsumerInput): Promise<Consumer>
  get(tenant: string, id: string): Promise<Consumer>
  list(tenant: string, query: PageQuery & { kind?: string }): Promise<Page<Consumer>>
}

export function createConsumers({ registry, createId }: { registry: Registry; createId: CreateId }): Consumers {
  return {
    async create(author, input) {
      const id = createId('con')
      const keys = { kind: input.kind }
      await commit(registry, author, 'consumer.create', [
        { kind: CONSUMER_KIND, id, tenant: author.tenant, expected: 0, body: input, keys },
      ])
      return show(await find(registry, author.tenant, CONSUMER_KIND, id))
    },
    get: async (tenant, id) => show(await find(registry, tenant, CONSUMER_KIND, id)),
    list: (tenant, query) =>
      listPage({
        registry,
        kind: CONSUMER_KIND,
        tenant,
        query,
        where: { kind: query.kind },
        show,
      }),
  }
}

function show({ id, body, createdAtMs }: Document<ConsumerBody>): Consumer {
  return { id, exposure: 'Public', ...body, createdAt: toTime(createdAtMs) }
}
