/** Parses the form and the client credentials of a request to an OAuth endpoint (RFC 6749, 2.3.1 and 3.2). */

export type FormResult = { readonly values: ReadonlyMap<string, string> } | { readonly fault: string }

export interface NamedClient {
  readonly clientId: string
  /** Null if the request has only a client id. */
  readonly clientSecret: string | null
  /** Sent by HTTP Basic, so a refusal carries a challenge. */
  readonly isBasic: boolean
}

export type ClientResult =
  | NamedClient
  | {
      readonly error: 'invalid_request' | 'invalid_client'
      readonly fault: string
      /** The request names no client at all. */
      readonly isMissing: boolean
    }

const VALUE_LENGTH_MAX = 4_096

/** Ignores parameters without a value and refuses duplicates (RFC 6749, 3.2). */
export function readForm(form: readonly (readonly [string, string])[]): FormResult {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  for (const [name, value] of form) {
    if (seen.has(name)) return { fault: `${name.slice(0, 64)} must not be sent more than once.` }
    if (value.length > VALUE_LENGTH_MAX) return { fault: `${name.slice(0, 64)} is too long.` }
    seen.add(name)
    if (value !== '') values.set(name, value)
  }
  return { values }
}

export function readClient(values: ReadonlyMap<string, string>, authorization: string | undefined): ClientResult {
  const clientId = values.get('client_id')
  const clientSecret = values.get('client_secret') ?? null
  if (authorization === undefined) {
    if (clientId !== undefined) return { clientId, clientSecret, isBasic: false }
    const fault = 'Send client_id and client_secret, in the form or by HTTP Basic.'
    return { error: 'invalid_client', fault, isMissing: clientSecret === null }
  }
  if (clientSecret !== null) return invalid('Send client_secret in the form or by HTTP Basic, not both.')
  const basic = readBasic(authorization)
  if (basic === null) {
    return { error: 'invalid_client', fault: 'The Authorization header must use HTTP Basic.', isMissing: false }
  }
  if (clientId !== undefined && clientId !== basic.clientId) {
    return invalid('client_id differs from the client in the Authorization header.')
  }
  return basic
}

function invalid(fault: string): ClientResult {
  return { error: 'invalid_request', fault, isMissing: false }
}

/** Decodes both parts, which are form-encoded before they are joined (RFC 6749, 2.3.1). */
function readBasic(authorization: string): NamedClient | null {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const at = text.indexOf(':')
  if (at < 0) return null
  try {
    return { clientId: decode(text.slice(0, at)), clientSecret: decode(text.slice(at + 1)) || null, isBasic: true }
  } catch {
    return null
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
