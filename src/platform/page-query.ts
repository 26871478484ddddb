/** What lists read from a query that has been validated. */

import type { PageQuery } from '../command/page.ts'
import { invalidQuery } from './time-range.ts'

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

/** The text of a filter that callers may also send under its old name, which is still its name within. */
export function renamed<Former extends string>(
  query: Query,
  name: string,
  former: Former,
): Partial<Record<Former, string>> {
  const { [name]: now, [former]: before } = query
  if (now !== undefined && before !== undefined && now !== before) {
    throw invalidQuery(`/${former}`, `This is the old name of ${name}. Give one of the two.`)
  }
  return texts({ [former]: now ?? before }, former)
}
