/** The OAuth paths of the gateway. */

/** Endpoints that people visit; they serve all APIs. */
export const PAGES = ['authorize', 'password', 'device'] as const
export const DEVICE_AUTHORIZATION = 'device_authorization'
/** Patterns of the paths with the methods that they accept. */
export const PATHS: readonly (readonly [RegExp, string])[] = [
  [/^\/[^/]+(\/v1)?\/oauth2\/v2\/(token|introspect|revoke)$/, 'POST'],
  [/^\/[^/]+(\/v1)?\/oauth2\/v2\/userinfo$/, 'GET, HEAD, POST'],
  [/^\/oauth2\/v2\/(authorize|password|device)$/, 'GET, POST'],
  [/^\/oauth2\/v2\/callback\/[^/]+$/, 'GET'],
  [/^\/oauth2\/v2\/device_authorization$/, 'POST'],
  [/^\/[^/]+\/\.well-known\/openid-configuration$/, 'GET, HEAD'],
  [/^\/\.well-known\/(jwks|oauth-authorization-server\/[^/]+|oauth-protected-resource\/[^/]+(\/mcp)?)$/, 'GET, HEAD'],
]

export const REGISTRATION_PATH: (typeof PATHS)[number] = [/^\/[^/]+\/oauth2\/v2\/register$/, 'POST']
