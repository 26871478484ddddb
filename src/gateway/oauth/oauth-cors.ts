/**
 * Which rules of CORS apply to an OAuth path.
 *
 * Keys and discovery documents are public. The endpoints that public clients use from a browser have the rules of their API, or for
 * the endpoint of all APIs, those of the setting `CORS_ORIGINS`. Pages that people visit, and what only confidential clients use,
 * have none.
 */

import { MAX_AGE_SECONDS } from '../../boundary/plan/cors.ts'
import type { CorsRules } from '../cors/cors-rules.ts'

/** The rules for an OAuth path; `ofApi` are those of the API in it. */
export type OauthCors = (path: string, ofApi: CorsRules | null) => CorsRules | null

const DISCOVERY = /^(?:\/[^/]+)?\/\.well-known\//
const OF_API = /^\/[^/]+(?:\/v1)?\/oauth2\/v2\/(?:token|revoke|userinfo)$/
const OF_ALL_APIS = '/oauth2/v2/device_authorization'
/** Request headers of these endpoints that a browser asks for. */
export const OAUTH_REQUEST_HEADERS = 'authorization, content-type'

/** For documents that are the same for every reader, so that caches need no `Vary`. */
const ALLOW_ALL = 'Access-Control-Allow-Origin: *\r\n'
const PUBLIC: CorsRules = {
  linesFor: () => ALLOW_ALL,
  preflightLines: (_, methods) =>
    `${ALLOW_ALL}Access-Control-Allow-Methods: ${methods}\r\nAccess-Control-Allow-Headers: *\r\n` +
    `Access-Control-Max-Age: ${MAX_AGE_SECONDS}\r\n`,
}

/** `ofAllApis` are the rules of the endpoint that serves all APIs. */
export function createOauthCors(ofAllApis: CorsRules | null): OauthCors {
  return (path, ofApi) => {
    if (path === OF_ALL_APIS) return ofAllApis
    if (DISCOVERY.test(path)) return PUBLIC
    return ofApi !== null && OF_API.test(path) ? ofApi : null
  }
}
