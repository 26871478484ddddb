/** Values of attributes by the semantic conventions of OpenTelemetry for HTTP, for spans and for metrics. */

import { IS_UNANSWERED, OUTCOMES, outcomeIndex, STATUS_CLIENT_GONE } from '../../foundation/domain/outcome.ts'
import type { Attribution } from '../../foundation/domain/attribution.ts'

export interface Route {
  /** One of the methods that the conventions know, or `_OTHER`. */
  readonly method: string
  /** Template of the path at the gateway; null: the call belongs to no operation. */
  readonly route: string | null
}

export const OTHER_METHOD = '_OTHER'
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'])
const SERVER_ERROR_MIN = 500
const MCP_PATH = 'mcp'

export function toMethod(method: string): string {
  return METHODS.has(method) ? method : OTHER_METHOD
}

/** Returns the route of the request at the gateway: that of a tool call is the endpoint of MCP. */
export function routeOf({ api, route, channel }: Attribution): Route {
  if (channel === 'mcp') return { method: 'POST', route: `/${api}/${MCP_PATH}` }
  const space = route === undefined ? -1 : route.indexOf(' ')
  if (route === undefined || space < 0) return { method: OTHER_METHOD, route: null }
  return { method: toMethod(route.slice(0, space)), route: `/${api}${route.slice(space + 1)}` }
}

/** Returns the status that was sent; null: none was. */
export function sentStatus(status: number, outcome: number): number | null {
  const isGone = outcome === outcomeIndex.client_aborted && status === STATUS_CLIENT_GONE
  return status < 100 || isGone ? null : status
}

/** Returns `error.type` of a call that failed by the gateway or its backend; null for any other. A refusal is no error of a server. */
export function serverError(status: number, outcome: number): string | null {
  if (IS_UNANSWERED[outcome] === true || outcome === outcomeIndex.internal) return OUTCOMES[outcome]!
  if (status < SERVER_ERROR_MIN) return null
  return outcome === outcomeIndex.served ? String(status) : (OUTCOMES[outcome] ?? String(status))
}
