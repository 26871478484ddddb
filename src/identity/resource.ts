/** The API that a request names as its `resource` (RFC 8707). */

import { PLATFORM_API } from '../domain/platform-api.ts'

export interface ResourceAddresses {
  readonly gatewayUrl: string
  /** The platform names itself by its own address in its metadata (RFC 9728). */
  readonly baseUrl: string
}

/** Returns null if the address is none of this service. */
export function apiOfResource({ gatewayUrl, baseUrl }: ResourceAddresses, resource: string): string | null {
  if (resource === baseUrl || resource === `${baseUrl}/`) return PLATFORM_API
  const prefix = `${gatewayUrl}/`
  return resource.startsWith(prefix) && resource.length > prefix.length ? resource.slice(prefix.length) : null
}
