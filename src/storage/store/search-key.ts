/**
 * The keys by which the registry finds documents by the beginning of their names. It derives them from the bodies, as it does with
 * labels.
 *
 * A value begins with the tenant, so that a search reads no key of another tenant, and holds the beginning of the name only.
 */

/** The name of the key. */
export const SEARCH_KEY = 'search'

/** The fields with names, of the kinds that are found by them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  api: ['title'],
  consumer: ['name'],
  product: ['name'],
  programme: ['name'],
  user: ['name', 'username'],
}
export const SEARCHED_KINDS: readonly string[] = Object.keys(NAMES)
const LENGTH_MAX = 64
/** Sorts after every text that begins with what stands before it. */
const LAST = '\u{10ffff}'

/** Returns the values of the key for a document; empty for kinds that are not found by name. */
export function searchValues(kind: string, tenant: string, body: unknown): readonly string[] {
  if (typeof body !== 'object' || body === null) return []
  const names = (NAMES[kind] ?? []).flatMap((field) => {
    const name = (body as Readonly<Record<string, unknown>>)[field]
    return typeof name === 'string' && name !== '' ? [toValue(tenant, name)] : []
  })
  return [...new Set(names)]
}

/** Returns the range of values for names that begin with the text; half-open. */
export function searchRange(tenant: string, text: string): readonly [string, string] {
  const value = toValue(tenant, text)
  return [value, value + LAST]
}

/** Returns the range of the texts that begin with `start`; half-open. */
export function prefixRange(start: string): readonly [string, string] {
  return [start, start + LAST]
}

function toValue(tenant: string, name: string): string {
  const folded = name.normalize('NFKC').toLowerCase().trimStart()
  return `${tenant} ${[...folded.slice(0, LENGTH_MAX * 2)].slice(0, LENGTH_MAX).join('')}`
}
