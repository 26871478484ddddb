/** Content negotiation by the `Accept` header (RFC 9110, section 12.5.1). */

import Negotiator from 'negotiator'

/**
 * Returns the media type that the caller prefers; null if it accepts none of them.
 *
 * If the caller has no preference, or sends no header, the first of `offered` is returned.
 */
export function preferredType<T extends string>(accept: string | undefined, offered: readonly T[]): T | null {
  const headers = accept === undefined ? {} : { accept }
  return (new Negotiator({ headers }).mediaType([...offered]) as T | undefined) ?? null
}
