/** The OAuth paths of the gateway. */

import type { OauthCall } from '../../boundary/plan/oauth-call.ts'

type Endpoint = OauthCall['endpoint']

/** An endpoint that the main thread executes, or a document that the gateway thread has. */
export interface OauthPath {
  readonly served: Endpoint | 'jwks' | 'issuer' | 'resource' | 'mcp-resource'
  /** `''` for a path that serves all APIs. */
  readonly api: string
  /** The identity provider of a callback; otherwise `''`. */
  readonly provider: string
  /** The methods that it accepts, as in `Allow`. */
  readonly methods: string
}

type Served = OauthPath['served'] | null

/** Each pattern with what it serves (null: the endpoint that it names) and the methods that it accepts. */
const PATHS: readonly (readonly [RegExp, Served, string])[] = [
  [/^\/(?<api>[^/]+)(?:\/v1)?\/oauth2\/v2\/(?<endpoint>token|introspect|revoke)$/, null, 'POST'],
  [/^\/(?<api>[^/]+)(?:\/v1)?\/oauth2\/v2\/userinfo$/, 'userinfo', 'GET, HEAD, POST'],
  [/^\/oauth2\/v2\/(?<endpoint>authorize|password|device)$/, null, 'GET, POST'],
  [/^\/oauth2\/v2\/callback\/(?<provider>[^/]+)$/, 'callback', 'GET'],
  [/^\/oauth2\/v2\/device_authorization$/, 'device_authorization', 'POST'],
  [/^\/\.well-known\/jwks$/, 'jwks', 'GET, HEAD'],
  [/^\/(?<api>[^/]+)\/\.well-known\/openid-configuration$/, 'issuer', 'GET, HEAD'],
  [/^\/\.well-known\/oauth-authorization-server\/(?<api>[^/]+)$/, 'issuer', 'GET, HEAD'],
  [/^\/\.well-known\/oauth-protected-resource\/(?<api>[^/]+)$/, 'resource', 'GET, HEAD'],
  [/^\/\.well-known\/oauth-protected-resource\/(?<api>[^/]+)\/mcp$/, 'mcp-resource', 'GET, HEAD'],
]

const REGISTRATION: (typeof PATHS)[number] = [/^\/(?<api>[^/]+)\/oauth2\/v2\/register$/, 'register', 'POST']

/** Returns null for any other path. A name with escapes is another name, as everywhere in the gateway. */
export type OauthPathReader = (path: string) => OauthPath | null

export function createOauthPathReader(allowsRegistration: boolean): OauthPathReader {
  const paths = allowsRegistration ? [...PATHS, REGISTRATION] : PATHS
  return (path) => {
    for (const [pattern, served, methods] of paths) {
      const groups = pattern.exec(path)
      if (groups === null) continue
      const { api = '', endpoint, provider = '' } = groups.groups ?? {}
      return { served: served ?? (endpoint as Endpoint), api, provider, methods }
    }
    return null
  }
}
