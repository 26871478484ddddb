/** The key under which a document is found by the beginning of its name, in its tenant. */

const LENGTH_MAX = 64

/** Name of the key. */
export const NAME_KEY = 'name'

/** Case and compatibility forms do not matter. Only the beginning of a long name counts. */
export function toNameKey(tenant: string, name: string): string {
  const folded = name.normalize('NFKC').toLowerCase().slice(0, LENGTH_MAX)
  return `${tenant} ${folded}`.toWellFormed()
}
