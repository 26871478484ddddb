/** Origins of web pages: scheme, host and port, as browsers serialise them in `Origin` (RFC 6454, 6.2). */

/** Without path, user, query, escapes and wildcards, so that the URL parser has nothing to drop or decode. */
const TEXT = /^https?:\/\/[^\s/?#@\\%*]{1,255}(?<!:)$/i
/** A host name without a trailing dot, an IPv4 address, or an IPv6 address in brackets. */
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/

/**
 * Returns an origin in the form in which browsers send it: lower case, punycode, without the default port. Null if the text is no
 * http or https origin; `null`, the origin of sandboxed pages and files, is none.
 */
export function toOrigin(text: string): string | null {
  if (!TEXT.test(text) || !URL.canParse(text)) return null
  const { origin, hostname } = new URL(text)
  return HOST.test(hostname) ? origin : null
}
