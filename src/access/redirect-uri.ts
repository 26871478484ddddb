/**
 * Validates redirect URIs of clients: https, http on a loopback host, or a private scheme of the app (RFC 8252, 7.1 to
 * 7.3). They are stored as given, because they are compared character by character.
 */

const LENGTH_MAX = 2_048
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Characters of a URI without a fragment (RFC 3986, appendix A). */
const CHARACTERS = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/

/** Requires `//` and a host, because browsers resolve `https:back` relative to the current server. */
const WEB = /^https?:\/\/[^/]/i
const WITH_USER = /^[^/?]*:\/\/[^/?]*@/

/** Returns why a redirect URI is invalid, or null. */
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
