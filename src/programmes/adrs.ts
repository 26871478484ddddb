/** Architecture decision records, stored with the APIs that they concern. */

import type { CreateId } from '../runtime/ids.ts'
import { documentKind, type Author, type Document, type Registry } from '../store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { commit, find, invalidAt, toTime } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export interface AdrInput {
  readonly title: string
  readonly status: string
  readonly context: string
  readonly decision: string
  readonly consequences: string
  readonly api?: string
}

export interface Adr extends Omit<AdrInput, 'api'> {
  readonly id: string
  readonly api: string | null
  readonly createdAt: string
}

export interface Adrs {
  create(author: Author, input: AdrInput): Promise<Adr>
  get(tenant: string, id: string): Promise<Adr>
  list(tenant: string, query: PageQuery & { api?: string }): Promise<Page<Adr>>
}

const ADR_KIND = documentKind<AdrInput>('adr', ['title', 'status', 'context', 'decision', 'consequences', 'api'])

export function createAdrs({ registry, createId }: { registry: Registry; createId: CreateId }): Adrs {
  return {
    async create(author, input) {
      const { tenant } = author
      const { api } = input
      if (api !== undefined && (await registry.get(API_KIND, api))?.tenant !== tenant) {
        throw invalidAt('/api', 'The API does not exist.')
      }
      const id = createId('adr')
      const keys = api === undefined ? {} : { api }
      await commit(registry, author, 'adr.create', [{ kind: ADR_KIND, id, tenant, expected: 0, body: input, keys }])
      return show(await find(registry, tenant, ADR_KIND, id))
    },
    get: async (tenant, id) => show(await find(registry, tenant, ADR_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: ADR_KIND, tenant, query, where: { api: query.api }, show }),
  }
}

function show({ id, body, createdAtMs }: Document<AdrInput>): Adr {
  return { id, ...body, api: body.api ?? null, createdAt: toTime(createdAtMs) }
}
