/** Architecture decision records, stored with the APIs that they concern. */

import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { commit, find, invalidAt, removeDocument, toTime } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export interface AdrInput extends Labelled {
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
  readonly labels: Labels
  readonly createdAt: string
}

export interface AdrChange extends Partial<Omit<AdrInput, 'api'>> {
  /** Null: the record concerns no API. */
  readonly api?: string | null
}

export interface Adrs {
  create(author: Author, input: AdrInput): Promise<Adr>
  update(author: Author, id: string, change: AdrChange): Promise<Adr>
  remove(author: Author, id: string): Promise<void>
  get(tenant: string, id: string): Promise<Adr>
  list(tenant: string, query: PageQuery & { api?: string }): Promise<Page<Adr>>
}

const ADR_KIND = documentKind<AdrInput>('adr', [
  'title',
  'status',
  'context',
  'decision',
  'consequences',
  'api',
  'labels',
])

export function createAdrs({ registry, createId }: { registry: Registry; createId: CreateId }): Adrs {
  async function checkApi(tenant: string, api: string | null | undefined): Promise<void> {
    if (typeof api === 'string' && (await registry.get(API_KIND, api))?.tenant !== tenant) {
      throw invalidAt('/api', 'The API does not exist.')
    }
  }

  return {
    async create(author, input) {
      const { tenant } = author
      await checkApi(tenant, input.api)
      const id = createId('adr')
      await commit(registry, author, 'adr.create', [adrWrite(id, tenant, 0, input)])
      return show(await find(registry, tenant, ADR_KIND, id))
    },
    async update(author, id, { api, ...change }) {
      const { tenant, revision, body } = await find(registry, author.tenant, ADR_KIND, id)
      await checkApi(tenant, api)
      const { api: before, ...fields } = body
      const concerned = api === undefined ? before : api
      const next = { ...fields, ...change, ...(typeof concerned === 'string' && { api: concerned }) }
      await commit(registry, author, 'adr.update', [adrWrite(id, tenant, revision, next)])
      return show(await find(registry, tenant, ADR_KIND, id))
    },
    remove: (author, id) => removeDocument(registry, author, 'adr.remove', ADR_KIND, id),
    get: async (tenant, id) => show(await find(registry, tenant, ADR_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: ADR_KIND, tenant, query, where: { api: query.api }, show }),
  }
}

function adrWrite(id: string, tenant: string, expected: number, body: AdrInput): Write {
  const keys = body.api === undefined ? {} : { api: body.api }
  return { kind: ADR_KIND, id, tenant, expected, body, keys }
}

function show({ id, body, createdAtMs }: Document<AdrInput>): Adr {
  return { id, ...body, api: body.api ?? null, labels: body.labels ?? {}, createdAt: toTime(createdAtMs) }
}
