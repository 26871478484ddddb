/** Lists of the registry: pages for the API, whose `next` is an opaque cursor (null on the last page), and all documents for internal use. */

import { Problem } from '../domain/problem.ts'
import { LABEL_KEY } from '../store/labels.ts'
import type { Document, DocumentKind, ListQuery, Registry } from '../store/registry.ts'

export interface PageQuery {
  readonly limit: number
  readonly cursor?: string
  /** `key:value`; an item must have all of these labels. */
  readonly label?: readonly string[]
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

export interface ListOptions<Body, Item> {
  readonly registry: Registry
  readonly kind: DocumentKind<Body>
  readonly tenant: string
  readonly query: PageQuery
  /** Filters by keys; undefined values do not filter. */
  readonly where?: Readonly<Record<string, string | undefined>>
  readonly show: (document: Document<Body>) => Item
}

export async function listPage<Body, Item>(options: ListOptions<Body, Item>): Promise<Page<Item>> {
  const { registry, kind, tenant, query, where = {}, show } = options
  const all: Readonly<Record<string, string | readonly string[] | undefined>> = { ...where, [LABEL_KEY]: query.label }
  const filters = Object.entries(all).filter(([, value]) => value !== undefined && value.length > 0)
  const documents = await registry.list(kind, {
    tenant,
    limit: query.limit + 1,
    ...(query.cursor !== undefined && { after: fromCursor(query.cursor) }),
    ...(filters.length > 0 && { where: Object.fromEntries(filters) as NonNullable<ListQuery['where']> }),
  })
  const shown = documents.slice(0, query.limit)
  const last = shown.at(-1)
  return { items: shown.map(show), next: documents.length > query.limit && last ? toCursor(last.id) : null }
}

const BATCH_MAX = 500

/** Yields all documents of a kind in id order. Reads them in batches, so that they are never all in memory. */
export async function* listAll<Body>(
  registry: Pick<Registry, 'list'>,
  kind: DocumentKind<Body>,
  { limit = BATCH_MAX, ...filter }: Partial<Pick<ListQuery, 'tenant' | 'where' | 'limit'>> = {},
): AsyncGenerator<Document<Body>> {
  for (let after = ''; ;) {
    const batch = await registry.list(kind, { ...filter, after, limit })
    yield* batch
    if (batch.length < limit) return
    after = batch.at(-1)?.id ?? ''
  }
}

/** Returns a page of a list in memory; its cursor is the number of items before it. */
export function pageOf<Item>(all: readonly Item[], { limit, cursor }: PageQuery): Page<Item> {
  const from = cursor === undefined ? 0 : toOffset(fromCursor(cursor))
  const to = from + limit
  return { items: all.slice(from, to), next: to < all.length ? toCursor(String(to)) : null }
}

export function toCursor(position: string): string {
  return Buffer.from(`1 ${position}`).toString('base64url')
}

/** Returns the number of items on the previous pages. */
export function toOffset(position: string): number {
  if (!/^\d{1,9}$/.test(position)) throw invalidCursor()
  return Number(position)
}

export function fromCursor(cursor: string): string {
  const text = /^[A-Za-z0-9_-]{1,5500}$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString('utf8') : ''
  if (!text.startsWith('1 ')) throw invalidCursor()
  return text.slice(2)
}

export function invalidCursor(): Problem {
  return new Problem('cursor_invalid', 'The cursor must be the `next` of the previous page, unchanged.')
}
