/**
 * The OAuth paths of a gateway thread: reads requests for the endpoints, which the main thread executes, and serves keys and
 * discovery documents itself.
 *
 * fastify does not open a server; the server of the gateway passes requests to it (`serverFactory`). Forms and queries
 * are read as pairs, so that repeated parameters can be detected.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { toDiscovery, toMcpResource, toProtectedResource, type Discovered } from './discovery.ts'
import { refuse, type OauthAnswer, type OauthCall } from '../../plan/oauth-call.ts'

export interface OauthServerOptions {
  readonly gatewayUrl: string
  /** Executes a request to an endpoint on the main thread. */
  readonly execute: (call: OauthCall) => Promise<OauthAnswer>
  readonly jwks: () => object
  /** Returns the scopes of an API; null if no such API is published. */
  readonly scopesOf: (api: string) => readonly string[] | null
  /** Receives the cause of a 503; the client does not get it. */
  readonly onFailure?: (cause: unknown) => void
}

export interface OauthServer {
  /** Returns false if the path is not one of the OAuth paths. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): boolean
  close(): Promise<void>
}

const FORM_BYTES_MAX = 16_384
const JWKS_SECONDS = 300
/** Endpoints that people visit; they serve all APIs. */
const PAGES = ['authorize', 'password', 'device'] as const
const DEVICE_AUTHORIZATION = 'device_authorization'
/** Patterns of the paths with the methods that they accept. */
const PATHS: readonly (readonly [RegExp, string])[] = [
  [/^\/[^/]+(\/v1)?\/oauth2\/v2\/(token|introspect|revoke)$/, 'POST'],
  [/^\/[^/]+(\/v1)?\/oauth2\/v2\/userinfo$/, 'GET, HEAD, POST'],
  [/^\/oauth2\/v2\/(authorize|password|device)$/, 'GET, POST'],
  [/^\/oauth2\/v2\/callback\/[^/]+$/, 'GET'],
  [/^\/oauth2\/v2\/device_authorization$/, 'POST'],
  [/^\/[^/]+\/\.well-known\/openid-configuration$/, 'GET, HEAD'],
  [/^\/\.well-known\/(jwks|oauth-authorization-server\/[^/]+|oauth-protected-resource\/[^/]+(\/mcp)?)$/, 'GET, HEAD'],
]

const DISCOVERY = [
  ['/:api/.well-known/openid-configuration', toDiscovery],
  ['/.well-known/oauth-authorization-server/:api', toDiscovery],
  ['/.well-known/oauth-protected-resource/:api', (api: Discovered) => toProtectedResource(api)],
  ['/.well-known/oauth-protected-resource/:api/mcp', toMcpResource],
] as const

export async function createOauthServer(options: OauthServerOptions): Promise<OauthServer> {
  let route: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const app = fastify({
    logger: false,
    bodyLimit: FORM_BYTES_MAX,
    serverFactory(handler) {
      route = handler
      return createServer()
    },
  })
  installForms(app, options.onFailure ?? (() => {}))
  addEndpoints(app, options)
  addCallback(app, options)
  addDiscovery(app, options)
  await app.ready()

  return {
    handle(request, response, path) {
      if (!PATHS.some(([pattern]) => pattern.test(path))) return false
      route(request, response)
      return true
    },
    close: () => app.close(),
  }
}

function addEndpoints(app: FastifyInstance, options: OauthServerOptions): void {
  for (const prefix of ['/:api', '/:api/v1']) {
    for (const endpoint of ['token', 'introspect', 'revoke'] as const) {
      app.post(`${prefix}/oauth2/v2/${endpoint}`, (request, reply) => serve(options, endpoint, request, reply))
    }
    app.route({
      method: ['GET', 'POST'],
      url: `${prefix}/oauth2/v2/userinfo`,
      handler: (request, reply) => serve(options, 'userinfo', request, reply),
    })
  }
  app.post(`/oauth2/v2/${DEVICE_AUTHORIZATION}`, (request, reply) =>
    serve(options, DEVICE_AUTHORIZATION, request, reply),
  )
  for (const endpoint of PAGES) {
    app.route({
      method: ['GET', 'POST'],
      url: `/oauth2/v2/${endpoint}`,
      exposeHeadRoute: false,
      handler: (request, reply) => serve(options, endpoint, request, reply),
    })
  }
}

/** Where an identity provider returns people to. */
function addCallback(app: FastifyInstance, { execute }: OauthServerOptions): void {
  app.get('/oauth2/v2/callback/:provider', { exposeHeadRoute: false }, async (request, reply) => {
    const { cookie } = request.headers
    const { provider } = request.params as { readonly provider: string }
    const call = { endpoint: 'callback', api: '', provider, method: 'GET', authorization: undefined, cookie } as const
    return send(reply, await execute({ ...call, form: formOf(request), address: addressOf(request) }))
  })
}

function addDiscovery(app: FastifyInstance, { gatewayUrl, jwks, scopesOf }: OauthServerOptions): void {
  app.get('/.well-known/jwks', (_request, reply) =>
    reply.header('Cache-Control', `public, max-age=${JWKS_SECONDS}`).send(jwks()),
  )
  for (const [path, toDocument] of DISCOVERY) {
    app.get(path, (request, reply) => {
      const api = apiOf(request)
      const scopes = scopesOf(api)
      return scopes === null ? send(reply, noSuchApi()) : reply.send(toDocument({ gatewayUrl, api, scopes }))
    })
  }
}

async function serve(
  { scopesOf, execute }: OauthServerOptions,
  endpoint: OauthCall['endpoint'],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const isShared = endpoint === DEVICE_AUTHORIZATION || PAGES.some((page) => page === endpoint)
  const api = isShared ? '' : apiOf(request)
  if (!isShared && scopesOf(api) === null) return send(reply, noSuchApi())
  const { authorization, cookie } = request.headers
  const method = request.method === 'POST' ? 'POST' : 'GET'
  const headers = { authorization, cookie, address: addressOf(request) }
  return send(reply, await execute({ endpoint, api, method, form: formOf(request), ...headers }))
}

function installForms(app: FastifyInstance, onFailure: (cause: unknown) => void): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, [...new URLSearchParams(String(body))]),
  )
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const { statusCode: status = 500 } = error
    if (status < 500) {
      const description = 'Send an application/x-www-form-urlencoded body of at most 16 KB.'
      return send(reply, refuse('invalid_request', description, status))
    }
    onFailure(error)
    reply.header('Retry-After', '1')
    return send(
      reply,
      refuse('temporarily_unavailable', 'The server cannot process this request at the moment. Retry later.', 503),
    )
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    reply.header('Allow', PATHS.find(([pattern]) => pattern.test(path))?.[1] ?? '')
    return send(
      reply,
      refuse('invalid_request', 'This path does not accept the method of the request; see the Allow header.', 405),
    )
  })
}

function formOf(request: FastifyRequest): readonly (readonly [string, string])[] {
  if (request.method === 'POST') return Array.isArray(request.body) ? (request.body as [string, string][]) : []
  const at = request.url.indexOf('?')
  return at < 0 ? [] : [...new URLSearchParams(request.url.slice(at + 1))]
}

function apiOf(request: FastifyRequest): string {
  return (request.params as { readonly api?: string }).api ?? ''
}

function addressOf({ raw }: FastifyRequest): string {
  return raw.socket.remoteAddress ?? ''
}

function noSuchApi(): OauthAnswer {
  return refuse('invalid_request', 'No API with this name is published here.', 404)
}

function send(reply: FastifyReply, { status, headers, body }: OauthAnswer): FastifyReply {
  // fastify would send null as JSON.
  return reply
    .code(status)
    .headers(headers)
    .send(body ?? undefined)
}
