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
    return 'A redirect URI must be an absolute URI without a fragment.'
  if (WITH_USER.test(text)) return 'A redirect URI must not contain a user name or a password.'
  const { protocol, hostname } = new URL(text)
  if ((protocol === 'https:' || protocol === 'http:') && !WEB.test(text))
    return 'A redirect URI with http or https must give the host after two slashes.'
  if (protocol === 'https:') return null
  if (protocol === 'http:') return LOOPBACK.has(hostname) ? null : 'A redirect URI with http must name a loopback host.'
  return protocol.includes('.')
    ? null
    : 'A redirect URI must use https, or a private scheme in reverse domain form, for example com.example.app.'
}
