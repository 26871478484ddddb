/**
 * Where a client may have people sent back to: https, http on a loopback host, or a scheme that the app
 * owns (RFC 8252, 7.1 to 7.3). Kept as given, since it is compared character by character.
 */

const LENGTH_MAX = 2_048
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
/** What an address may be made of (RFC 3986, appendix A), without a fragment. */
const CHARACTERS = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/

/** With its host after `//`: a browser takes `https:back` for a place on the server that it has just asked. */
const WEB = /^https?:\/\/[^/]/i
const WITH_USER = /^[^/?]*:\/\/[^/?]*@/

/** Why it cannot be used; null where it can. */
export function redirectUriFault(text: string): string | null {
  if (text.length > LENGTH_MAX || !CHARACTERS.test(text) || !URL.canParse(text))
    return 'Give an absolute address, without a fragment.'
  if (WITH_USER.test(text)) return 'An address that carries a user or a password is not taken.'
  const { protocol, hostname } = new URL(text)
  if ((protocol === 'https:' || protocol === 'http:') && !WEB.test(text)) return 'Give the host after two slashes.'
  if (protocol === 'https:') return null
  if (protocol === 'http:') return LOOPBACK.has(hostname) ? null : 'http is taken on a loopback host alone.'
  return protocol.includes('.')
    ? null
    : 'Give https, or a scheme of your own in the form of a domain, as com.example.app.'
}
