/**
 * Decides which headers an API may add, replace or remove.
 *
 * The gateway writes the others itself or reads messages by them: an API that changed those could forge who calls, break the framing
 * of messages, or hide a loop. Backends in the tradition of CGI treat an underscore as a dash, so that names are compared that way.
 */

export type HeaderUse = 'secret' | 'request' | 'response'

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]

/** Credentials of the caller, which do not reach the backend. */
const CREDENTIALS = new Set(['authorization', 'x-api-key'])

const REQUEST = new Set([
  ...HOP_BY_HOP,
  // By these the gateway and the backend read the message.
  'host',
  'expect',
  'accept-encoding',
  'x-http-method-override',
  'x-method-override',
  'x-http-method',
  'x-original-url',
  'x-rewrite-url',
  'access-control-request-method',
  'origin',
  // The gateway writes these.
  'via',
  'cdn-loop',
  'forwarded',
  'x-real-ip',
  'x-consumer-id',
  'x-subscription-id',
  'x-agent-id',
  'x-on-behalf-of',
  'x-request-id',
  'client-cert',
  'client-cert-chain',
  'traceparent',
  'tracestate',
])
const REQUEST_PREFIXES = ['content-', 'x-forwarded-', 'sec-websocket-']

const RESPONSE = new Set([
  ...HOP_BY_HOP,
  'date',
  'www-authenticate',
  'retry-after',
  'deprecation',
  'sunset',
  'x-request-id',
])
const RESPONSE_PREFIXES = ['content-', 'ratelimit', 'x-ru-', 'access-control-', 'sec-websocket-']
/** They say how a browser uses a response, not how it is read. */
const BROWSER_CONTENT = new Set([
  'content-security-policy',
  'content-security-policy-report-only',
  'content-disposition',
  'content-language',
])

/**
 * Returns the form in which names are compared. CGI has one character for the dash and for all that are no letters or digits, so a
 * backend may take one name for the other.
 */
export function comparedName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-')
}

/** Returns why an API must not use a header; null if it may. */
export function refuseHeaderName(name: string, use: HeaderUse): string | null {
  const compared = comparedName(name)
  if (use === 'response') {
    if (BROWSER_CONTENT.has(compared)) return null
    return isReserved(compared, RESPONSE, RESPONSE_PREFIXES) ? 'The gateway controls this header of responses.' : null
  }
  if (CREDENTIALS.has(compared)) {
    return use === 'secret'
      ? null
      : 'The gateway removes credentials of callers. Use `backend.secretHeaders` to send some.'
  }
  return isReserved(compared, REQUEST, REQUEST_PREFIXES) ? 'The gateway controls this header of requests.' : null
}

function isReserved(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
}
