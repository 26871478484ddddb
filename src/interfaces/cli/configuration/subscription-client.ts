/**
 * How a subscription is used: the types of its credentials, and what these are bound to.
 *
 * The service takes that when it creates a subscription. A field that a copy left out would widen its access: by default, a
 * subscription gets a client and an API key that are bound to no certificate.
 */

import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'
import type { Platform } from './platform.ts'
import { isNothing, type Fields, type Found } from './resource.ts'

export const CLIENT_FIELDS = ['securityTypes', 'federated', 'certificateThumbprint', 'redirectUris'] as const

const PATH = '/v1/subscriptions'
/** The service creates no subscription without credentials; these are revoked at once. */
const REVOKED_TYPE = 'ApiKey'

/** Returns the fields for the representation of a subscription. */
export function clientFields(body: Fields): Fields {
  const { securityTypes, federated, redirectUris } = body
  const types = securityTypes as readonly string[]
  const thumbprints = body['certificateThumbprints'] as readonly (string | null)[]
  return {
    securityTypes: types,
    federated,
    certificateThumbprint: thumbprints.length > 1 ? thumbprints : (thumbprints[0] ?? null),
    // The service takes them for these types only.
    redirectUris: types.includes('OAuth2') || types.includes('PKCE') ? redirectUris : [],
  }
}

export function clientFault({ certificateThumbprint: bound = null, securityTypes = [] }: Fields): string | null {
  if (securityTypes !== null && !isTexts(securityTypes)) return 'securityTypes must be a list of types.'
  const isText = bound === null || typeof bound === 'string'
  return isText || Array.isArray(bound) ? null : 'certificateThumbprint must be a text or null.'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** Returns the members of the request that creates the subscription. */
export function clientInput(fields: Fields): Fields {
  const { securityTypes, federated, certificateThumbprint, redirectUris } = fields
  if (Array.isArray(certificateThumbprint)) {
    throw new CommandFailed(
      'Its credentials are bound to different certificates. Give certificateThumbprint one value, and rotate the others.',
      EXIT_NEGATIVE,
    )
  }
  return {
    ...(securityTypes !== undefined && { securityTypes: isNothing(securityTypes) ? [REVOKED_TYPE] : securityTypes }),
    ...(!isNothing(federated) && { federated }),
    ...(!isNothing(certificateThumbprint) && { certificateThumbprint }),
    ...(redirectUris !== undefined && { redirectUris }),
  }
}

/** Revokes the credentials of a new subscription that has none in the folder. */
export async function revokeUnwanted(platform: Platform, id: string, { securityTypes }: Fields): Promise<void> {
  if (securityTypes === undefined || !isNothing(securityTypes)) return
  const path = `${PATH}/${id}/credentials`
  for (const { id: credential } of await platform.list(`${path}?reveal=false`)) {
    await platform.send('DELETE', `${path}/${String(credential)}`)
  }
}

/** Throws if a field differs: the service cannot change it, so that people have to. */
export function refuseClientChange(found: Found, wanted: Fields, changed: ReadonlySet<string>): void {
  const field = CLIENT_FIELDS.find((each) => changed.has(each))
  if (field === undefined) return
  throw new CommandFailed(`${field} cannot be changed; ${remedyOf(field, found, wanted)}.`, EXIT_NEGATIVE)
}

function remedyOf(field: (typeof CLIENT_FIELDS)[number], { id, fields }: Found, wanted: Fields): string {
  const again = 'remove the subscription and create it again'
  switch (field) {
    case 'securityTypes': {
      const had = (fields[field] ?? []) as readonly string[]
      const types = (wanted[field] ?? []) as readonly string[]
      const more = had.filter((type) => !types.includes(type))
      const isMissing = types.some((type) => !had.includes(type))
      if (isMissing) return again
      return `revoke its credentials of type ${more.join(', ')} with tollgate credentials revoke ${id}`
    }
    case 'certificateThumbprint':
      return typeof wanted[field] === 'string' && !(fields['securityTypes'] as readonly string[]).includes('Federated')
        ? `rotate its credentials with tollgate credentials rotate ${id} --certificate-thumbprint ${wanted[field]}`
        : again
    case 'federated':
    case 'redirectUris':
      return again
    default:
      return field satisfies never
  }
}
