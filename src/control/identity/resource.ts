/** The API that a request names as its `resource` (RFC 8707). */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { MCP_PATH } from '../../boundary/plan/mcp-exposure.ts'

export interface ResourceAddresses {
  readonly gatewayUrl: string
  /** The platform names itself by its own address in its metadata (RFC 9728). */
  readonly baseUrl: string
}

/** Returns null if the address is none of this service. The MCP endpoint of an API, or of the platform, means the API. */
export function apiOfResource({ gatewayUrl, baseUrl }: ResourceAddresses, resource: string): string | null {
  if ([baseUrl, `${baseUrl}/`, `${baseUrl}${MCP_PATH}`].includes(resource)) return PLATFORM_API
  const prefix = `${gatewayUrl}/`
  if (!resource.startsWith(prefix)) return null
  const path = resource.slice(gatewayUrl.length)
  const api = path.endsWith(MCP_PATH) ? path.slice(0, -MCP_PATH.length) : path
  return api.length > 1 ? api.slice(1) : null
}
