/**
 * Reads a client ID metadata document (draft-ietf-oauth-client-id-metadata-document): what a client that is known by the
 * URL of such a document says about itself.
 *
 * The document comes from a stranger. It has one reading: UTF-8, no duplicate member, bounded depth. Only public clients
 * are accepted, because a published document cannot hold a secret.
 */

import { refuseUrl } from '../../../foundation/outbound/url-guard.ts'
import { readMembers, readName, readRedirectUris, type Members } from './client-statement.ts'

export interface ClientMetadata {
  /** Name and host, as people see them. */
  readonly name: string
  readonly redirectUris: readonly string[]
}

export interface MetadataFault {
  readonly fault: string
}

const REDIRECT_URIS_MAX = 20
const ID_LENGTH_MAX = 512
const SECRETS = ['client_secret', 'client_secret_expires_at'] as const
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns whether a client id names a metadata document: https, with a path, and in one spelling only. */
export function isMetadataUrl(clientId: string, allowPrivate: boolean): boolean {
  if (clientId.length > ID_LENGTH_MAX || !/^https?:\/\//.test(clientId) || DOT_SEGMENT.test(clientId)) return false
  if (clientId.includes('#') || refuseUrl(clientId, { allowPrivate }) !== null) return false
  const { href, pathname } = new URL(clientId)
  return href === clientId && pathname !== '/'
}

export function readMetadata(clientId: string, bytes: Uint8Array): ClientMetadata | MetadataFault {
  const members = toObject(bytes)
  if (members === null) return { fault: 'The document is not a JSON object with one reading.' }
  if (members['client_id'] !== clientId) return { fault: 'client_id is not the URL of the document.' }
  if (SECRETS.some((name) => Object.hasOwn(members, name))) return { fault: 'A published document has no secret.' }
  const method = members['token_endpoint_auth_method']
  // The default of RFC 7591 is a shared secret, which these clients cannot have.
  if (method !== undefined && method !== 'none') return { fault: 'token_endpoint_auth_method must be none.' }
  if (!includes(members['grant_types'], 'authorization_code') || !includes(members['response_types'], 'code')) {
    return { fault: 'The client must use authorization codes.' }
  }
  const redirectUris = readRedirectUris(members['redirect_uris'], REDIRECT_URIS_MAX)
  if ('fault' in redirectUris) return redirectUris
  return { name: toName(members['client_name'], new URL(clientId).host), redirectUris: redirectUris.uris }
}

function toObject(bytes: Uint8Array): Members | null {
  try {
    return readMembers(utf8.decode(bytes))
  } catch {
    return null
  }
}

/** A list that is missing has the default of RFC 7591, 2. */
function includes(value: unknown, wanted: string): boolean {
  return value === undefined || (Array.isArray(value) && (value as readonly unknown[]).includes(wanted))
}

/** Returns the host, after the name that the client gives itself. */
function toName(name: unknown, host: string): string {
  const shown = readName(name)
  return shown === '' ? host : `${shown} (${host})`
}
