/**
 * The origins to which a form of a sign-in may lead.
 *
 * Browsers apply `form-action` also to the redirect after the form. A client without a consent page gets its redirect from the page of
 * the password or of the second factor, so that each page of a sign-in names the redirect URI.
 */

/**
 * This service, and the origin of an http(s) address, else its scheme: neither can contain a character that ends a policy source.
 * Policies have no form for an IPv6 address (CSP 3, 2.3.1), so that its scheme counts as well.
 */
export function formTargets(redirectUri: string): string {
  const { origin, protocol, hostname } = new URL(redirectUri)
  return `'self' ${origin === 'null' || hostname.startsWith('[') ? protocol : origin}`
}
