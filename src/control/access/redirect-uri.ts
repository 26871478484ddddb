/**
 * Validates redirect URIs of clients: https, http on a loopback host, or a private scheme of the app (RFC 8252, 7.1 to
 * 7.3). They are stored as given, because they are compared character by character, except for the port of a loopback
 * host: apps get a free one from the system when they start.
 */

const LENGTH_MAX = 2_048
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Characters of a URI without a fragment (RFC 3986, appendix A). */
const CHARACTERS = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/

/** Requires `//` and a host, because browsers resolve `https:back` relative to the current server. */
const WEB = /^https?:\/\/[^/]/i
const WITH_USER = /^[^/?]*:\/\/[^/?]*@/

const LOOPBACK_URI = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?((?:[/?].*)?)$/
/** `localhost` may resolve to another host (RFC 8252, 8.3). */
const LOOPBACK_ADDRESS = /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d{1,5})?\//

/** Returns whether a URI of a request is one of the registered ones, apart from the port of a loopback host (RFC 8252, 7.3). */
export function isRegisteredUri(registered: readonly string[], uri: string): boolean {
  if (registered.includes(uri)) return true
  const wanted = withoutPort(uri)
  if (wanted === null || redirectUriFault(uri) !== null) return false
  return registered.some((each) => withoutPort(each) === wanted)
}

/** Returns whether a URI leads to an app on the computer of the browser. */
export function isLoopbackUri(uri: string): boolean {
  return LOOPBACK_ADDRESS.test(uri) && redirectUriFault(uri) === null
}

/** Returns null for any URI that is not http on a loopback host. */
function withoutPort(uri: string): string | null {
  const [, host, rest] = uri.length > LENGTH_MAX ? [] : (LOOPBACK_URI.exec(uri) ?? [])
  return host === undefined || rest === undefined ? null : host + rest
}

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
