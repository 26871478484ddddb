/** Lists of the registry: pages for the API, whose `next` is an opaque cursor (null on the last page), and all documents for internal use. */

import { Problem } from '../../foundation/domain/problem.ts'
import { LABEL_KEY, labelValues } from '../../storage/store/labels.ts'
import type { Document, DocumentKind, ListQuery, Registry } from '../../storage/store/registry.ts'

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
  /** Only documents whose id begins with this text. */
  readonly prefix?: string | undefined
  readonly show: (document: Document<Body>) => Item
}

export async function listPage<Body, Item>(options: ListOptions<Body, Item>): Promise<Page<Item>> {
  const { registry, kind, tenant, query, where = {}, prefix = '', show } = options
  const filters = filtersOf(query, where)
  const found = await registry.list(kind, {
    tenant,
    limit: query.limit + 1,
    after: startOf(query, prefix),
    where: filters,
  })
  const documents = found.filter(({ id }) => id.startsWith(prefix))
  const shown = documents.slice(0, query.limit)
  const last = shown.at(-1)
  return { items: shown.map(show), next: documents.length > query.limit && last ? toCursor(last.id) : null }
}

interface PrefixListOptions<Body, Item> extends ListOptions<Body, Item> {
  readonly key: string
  readonly prefix: string
  readonly valueOf: (document: Document<Body>) => string
}

/** Returns a page of the documents with a value of the key that begins with the prefix, in the order of the values. */
export async function listByPrefix<Body, Item>(options: PrefixListOptions<Body, Item>): Promise<Page<Item>> {
  const { registry, kind, tenant, query, where = {}, show, key: name, prefix: value, valueOf } = options
  const after = query.cursor === undefined ? {} : { after: fromValueCursor(query.cursor) }
  const documents = await registry.list(kind, {
    tenant,
    limit: query.limit + 1,
    where: filtersOf(query, where),
    prefix: { name, value, ...after },
  })
  const shown = documents.slice(0, query.limit)
  const last = shown.at(-1)
  const hasMore = documents.length > query.limit && last !== undefined
  return { items: shown.map(show), next: hasMore ? toCursor(`${last.id} ${valueOf(last)}`) : null }
}

function fromValueCursor(cursor: string): { readonly id: string; readonly value: string } {
  const [, id, value] = /^(\S+) (.*)$/s.exec(fromCursor(cursor)) ?? []
  if (id === undefined || value === undefined) throw invalidCursor()
  return { id, value }
}

interface FilteredListOptions<Body, Item> extends ListOptions<Body, Item> {
  readonly isShown: (document: Document<Body>) => Promise<boolean>
}

/** Returns a page of the documents that `isShown` selects; reads as many documents as that takes. */
export async function listFiltered<Body, Item>(options: FilteredListOptions<Body, Item>): Promise<Page<Item>> {
  const { registry, kind, tenant, query, where = {}, prefix = '', show, isShown } = options
  const found: Document<Body>[] = []
  const after = startOf(query, prefix)
  for await (const document of listAll(registry, kind, { tenant, where: filtersOf(query, where), after })) {
    if (!document.id.startsWith(prefix)) break
    if (!(await isShown(document))) continue
    if (found.length === query.limit) return { items: found.map(show), next: toCursor(found.at(-1)?.id ?? '') }
    found.push(document)
  }
  return { items: found.map(show), next: null }
}

/** Returns the id after which a page begins. Ids are in the order of their bytes, so that those with a prefix follow each other. */
function startOf({ cursor }: PageQuery, prefix: string): string {
  const after = cursor === undefined ? '' : fromCursor(cursor)
  if (prefix === '' || after.startsWith(prefix)) return after
  const last = prefix.charCodeAt(prefix.length - 1)
  return `${prefix.slice(0, -1)}${String.fromCharCode(last - 1)}${LAST_CHARACTER}`
}

/** Returns the filters by keys and labels that are set. */
function filtersOf({ label }: PageQuery, where: Readonly<Record<string, string | undefined>>) {
  const all: Readonly<Record<string, string | readonly string[] | undefined>> = { ...where, [LABEL_KEY]: label }
  const filters = Object.entries(all).filter(([, value]) => value !== undefined && value.length > 0)
  return Object.fromEntries(filters) as NonNullable<ListQuery['where']>
}

const BATCH_MAX = 500
const LAST_CHARACTER = '\u{10ffff}'

/** Yields all documents of a kind in id order. Reads them in batches, so that they are never all in memory. */
export async function* listAll<Body>(
  registry: Pick<Registry, 'list'>,
  kind: DocumentKind<Body>,
  { limit = BATCH_MAX, after: start = '', ...filter }: Partial<ListQuery> = {},
): AsyncGenerator<Document<Body>> {
  for (let after = start; ;) {
    const batch = await registry.list(kind, { ...filter, after, limit })
    yield* batch
    if (batch.length < limit) return
    after = batch.at(-1)?.id ?? ''
  }
}

/** Returns the filter of a list in memory for items that have all labels of the query. */
export function hasLabels({ label = [] }: Pick<PageQuery, 'label'>): (item: unknown) => boolean {
  if (label.length === 0) return () => true
  return (item) => {
    const values = new Set(labelValues(item))
    return label.every((each) => values.has(each))
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
function toOffset(position: string): number {
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
