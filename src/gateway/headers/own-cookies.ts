/**
 * Removes the cookies of this service from a request: the session of the console, and those of a sign-in.
 *
 * Browsers send cookies to every port and path of a host, so that the backend of any API could get them.
 */

const OWN = /^(?:__Host-|__Secure-)?tollgate-/i

/** Returns the other cookies; `''` if there are none. */
export function withoutOwnCookies(header: string): string {
  if (!header.toLowerCase().includes('tollgate-')) return header
  const others = header.split(';').filter((pair) => !OWN.test(pair.trimStart()))
  return others.join(';').trim()
}
