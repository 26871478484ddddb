/** The platform API as a protected resource (RFC 9728). */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { object, scopeNames, text } from './schemas.ts'

export interface PublicAddresses {
  readonly baseUrl: string
  readonly gatewayUrl: string
}

export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'
const texts = { type: 'array', items: text } as const

export const protectedResourceShape = object({
  resource: text,
  authorization_servers: texts,
  scopes_supported: scopeNames,
  bearer_methods_supported: texts,
  resource_name: text,
})

/** `path` is that of an endpoint with metadata of its own. */
export function toProtectedResource(
  { baseUrl, gatewayUrl }: PublicAddresses,
  scopes: readonly string[],
  path = '',
): object {
  return {
    resource: baseUrl + path,
    authorization_servers: [`${gatewayUrl}/${PLATFORM_API}`],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: PLATFORM_API,
  }
}
