/** What lists read from a query that has been validated. */

import type { PageQuery } from '../catalogue/page.ts'

type Query = Readonly<Record<string, unknown>>

export function toPageQuery({ limit, cursor }: Query): PageQuery {
  return { limit: typeof limit === 'number' ? limit : 50, ...(typeof cursor === 'string' && { cursor }) }
}

/** The texts among `query`, by the names given. */
export function texts<Name extends string>(query: Query, ...names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const value = query[name]
    if (typeof value === 'string') found[name] = value
  }
  return found
}
