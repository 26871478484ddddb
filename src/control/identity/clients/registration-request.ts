/**
 * Validates the registration of a client (RFC 7591, 2 and 3.1).
 *
 * Only public clients with authorization codes can register: they have no secret, and act in the name of a person alone.
 * Members that this service does not know or does not support are ignored, also software statements (RFC 7591, 2 and
 * 2.3). Redirect URIs use https, or http on a loopback host; a private scheme proves nothing about who receives the code.
 */

import { readMembers, readName, readRedirectUris, type Members } from './client-statement.ts'

export interface ClientRegistration {
  /** `''` if the client gave none. */
  readonly name: string
  readonly redirectUris: readonly string[]
}

export interface RegistrationFault {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'
  readonly fault: string
}

const REDIRECT_URIS_MAX = 10
const REDIRECT_URI_LENGTH_MAX = 512
const NAME_LENGTH_MAX = 1_024
const GRANT_TYPES = ['authorization_code', 'refresh_token']

/** `text` is null if the body is not UTF-8. */
export function readRegistration(text: string | null): ClientRegistration | RegistrationFault {
  const members = text === null ? null : readMembers(text)
  if (members === null) return invalid('The body must be a JSON object without duplicate members.')
  const fault = faultOf(members)
  if (fault !== null) return invalid(fault)
  const redirectUris = readRedirectUris(members['redirect_uris'], REDIRECT_URIS_MAX)
  if ('fault' in redirectUris) return { error: 'invalid_redirect_uri', fault: redirectUris.fault }
  const refused = redirectUris.uris.map(refuse).find((each) => each !== null)
  if (refused !== undefined) return { error: 'invalid_redirect_uri', fault: refused }
  return { name: readName(members['client_name']), redirectUris: [...new Set(redirectUris.uris)] }
}

/** In addition to what holds for every redirect URI. */
function refuse(uri: string): string | null {
  if (uri.length > REDIRECT_URI_LENGTH_MAX) {
    return `A redirect URI must have at most ${REDIRECT_URI_LENGTH_MAX} characters.`
  }
  return /^https?:/i.test(uri) ? null : 'A redirect URI must use https, or http on a loopback host.'
}

function faultOf(members: Members): string | null {
  const name = members['client_name']
  if (name !== undefined && (typeof name !== 'string' || name.length > NAME_LENGTH_MAX)) {
    return `client_name must be a text of at most ${NAME_LENGTH_MAX} characters.`
  }
  // The default of RFC 7591 is a shared secret; the answer says that the client has none.
  const method = members['token_endpoint_auth_method']
  if (method !== undefined && method !== 'none') return 'token_endpoint_auth_method must be none.'
  if (!isWithin(members['grant_types'], GRANT_TYPES)) {
    return 'grant_types must have authorization_code, and may have refresh_token.'
  }
  return isWithin(members['response_types'], ['code']) ? null : 'response_types must be code.'
}

/** The first value is required; a list that is missing has it by default. */
function isWithin(value: unknown, allowed: readonly string[]): boolean {
  if (value === undefined) return true
  if (!Array.isArray(value)) return false
  const values = value as readonly unknown[]
  return values.includes(allowed[0]) && values.every((each) => typeof each === 'string' && allowed.includes(each))
}

function invalid(fault: string): RegistrationFault {
  return { error: 'invalid_client_metadata', fault }
}
