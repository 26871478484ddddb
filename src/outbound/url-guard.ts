/**
 * Whether a URL that a customer names may be called at all, by what it says alone: https on a port for
 * it, no credentials, and where it names an address itself, a public one. What its host leads to is
 * judged when it is connected to (`guarded-lookup.ts`).
 */

import { isIP } from 'node:net'
import { isPublicAddress } from './address-guard.ts'

const PORTS: readonly string[] = ['', '443', '8443']
const LENGTH_MAX = 2_048

/** Null where it may, else why not. `allowPrivate` lets through http, any port and any address. */
export function refuseUrl(text: string, { allowPrivate }: { readonly allowPrivate: boolean }): string | null {
  if (text.length > LENGTH_MAX) return `The URL has more than ${LENGTH_MAX} characters.`
  const url = URL.parse(text)
  if (url === null) return 'The URL must be absolute.'
  if (url.username !== '' || url.password !== '') return 'The URL must not carry credentials.'
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) return 'The URL must use https.'
  if (allowPrivate) return null
  if (!PORTS.includes(url.port)) return 'The port must be 443 or 8443.'
  // The parser has brought 0x7f.1 and its like to the form of an address.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'The address must be public.'
  return null
}
