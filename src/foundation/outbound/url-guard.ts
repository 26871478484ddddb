/**
 * Checks the text of a URL that a customer names: https on an allowed port, no credentials, and a public address if the
 * host is an address. `guarded-lookup.ts` checks the addresses of a host name at every connection.
 */

import { isIP } from 'node:net'
import { isPublicAddress } from './address-guard.ts'

const PORTS: readonly string[] = ['', '443', '8443']
const LENGTH_MAX = 2_048

/** Returns why the URL may not be requested, or null. `allowPrivate` allows http, any port and any address. */
export function refuseUrl(text: string, { allowPrivate }: { readonly allowPrivate: boolean }): string | null {
  if (text.length > LENGTH_MAX) return `The URL has more than ${LENGTH_MAX} characters.`
  const url = URL.parse(text)
  if (url === null) return 'The URL must be absolute.'
  if (url.username !== '' || url.password !== '') return 'The URL must not carry credentials.'
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) return 'The URL must use https.'
  if (allowPrivate) return null
  if (!PORTS.includes(url.port)) return 'The port must be 443 or 8443.'
  // The URL parser has already normalized spellings such as 0x7f.1.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'The address must be public.'
  return null
}
