/** Reads a request to the token endpoint: its form, and who the client says it is (RFC 6749, 2.3.1 and 3.2). */

export type FormResult = { readonly values: ReadonlyMap<string, string> } | { readonly fault: string }

export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
  /** By HTTP Basic: a refusal then carries a challenge. */
  readonly isBasic: boolean
}

export type ClientResult =
  ClientCredentials | { readonly error: 'invalid_request' | 'invalid_client'; readonly fault: string }

const VALUE_LENGTH_MAX = 4_096

/** A parameter without a value is as if it were not sent; one that comes twice makes the request invalid. */
export function readForm(form: readonly (readonly [string, string])[]): FormResult {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  for (const [name, value] of form) {
    if (seen.has(name)) return { fault: `${name.slice(0, 64)} comes twice.` }
    if (value.length > VALUE_LENGTH_MAX) return { fault: `${name.slice(0, 64)} is too long.` }
    seen.add(name)
    if (value !== '') values.set(name, value)
  }
  return { values }
}

export function readClient(values: ReadonlyMap<string, string>, authorization: string | undefined): ClientResult {
  const clientId = values.get('client_id')
  const clientSecret = values.get('client_secret')
  if (authorization === undefined) {
    if (clientId === undefined || clientSecret === undefined) {
      return { error: 'invalid_client', fault: 'Send client_id and client_secret, in the form or by HTTP Basic.' }
    }
    return { clientId, clientSecret, isBasic: false }
  }
  if (clientSecret !== undefined) return { error: 'invalid_request', fault: 'Send the secret in one place.' }
  const basic = readBasic(authorization)
  if (basic === null) return { error: 'invalid_client', fault: 'Authorization takes HTTP Basic here.' }
  if (clientId !== undefined && clientId !== basic.clientId) {
    return { error: 'invalid_request', fault: 'client_id and Authorization name two clients.' }
  }
  return basic
}

/** Both parts are form-encoded before they are joined (RFC 6749, 2.3.1). */
function readBasic(authorization: string): ClientCredentials | null {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const at = text.indexOf(':')
  if (at < 0) return null
  try {
    return { clientId: decode(text.slice(0, at)), clientSecret: decode(text.slice(at + 1)), isBasic: true }
  } catch {
    return null
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
