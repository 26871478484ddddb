/**
 * The OAuth paths of a gateway thread: reads requests for the endpoints, which answer in the main
 * thread, and serves keys and discovery itself.
 *
 * fastify without a server of its own: the gateway's server hands requests over (`serverFactory`).
 * Forms and queries are read as pairs, so that a parameter that comes twice is seen.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { toDiscovery } from './discovery.ts'
import { refuse, type OauthAnswer, type OauthCall } from '../../plan/oauth-call.ts'

export interface OauthServerOptions {
  readonly gatewayUrl: string
  readonly ask: (call: OauthCall) => Promise<OauthAnswer>
  readonly jwks: () => object
  /** Scopes of an API, null where there is no such API. */
  readonly scopesOf: (api: string) => readonly string[] | null
  /** Hears why something could not be answered; clients do not. */
  readonly onFailure?: (cause: unknown) => void
}

export interface OauthServer {
  /** Answers false where the path is none of its own. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): boolean
  close(): Promise<void>
}

const FORM_BYTES_MAX = 16_384
const JWKS_SECONDS = 300
/** By the path, the methods it takes. */
const PATHS: readonly (readonly [RegExp, string])[] = [
  [/^\/[^/]+(\/v1)?\/oauth2\/v2\/(token|introspect|revoke)$/, 'POST'],
  [/^\/[^/]+(\/v1)?\/oauth2\/v2\/userinfo$/, 'GET, HEAD, POST'],
  [/^\/oauth2\/v2\/authorize$/, 'GET, POST'],
  [/^\/[^/]+\/\.well-known\/openid-configuration$/, 'GET, HEAD'],
  [/^\/\.well-known\/(jwks|oauth-authorization-server\/[^/]+)$/, 'GET, HEAD'],
]

export async function createOauthServer(options: OauthServerOptions): Promise<OauthServer> {
  const { gatewayUrl, ask, jwks, scopesOf, onFailure = () => {} } = options
  let route: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const app = fastify({
    logger: false,
    bodyLimit: FORM_BYTES_MAX,
    serverFactory(handler) {
      route = handler
      return createServer()
    },
  })
  installForms(app, onFailure)

  for (const endpoint of ['token', 'introspect', 'revoke'] as const) {
    for (const prefix of ['/:api', '/:api/v1']) {
      app.post(`${prefix}/oauth2/v2/${endpoint}`, (request, reply) => serve(endpoint, request, reply))
    }
  }
  for (const prefix of ['/:api', '/:api/v1']) {
    app.route({
      method: ['GET', 'POST'],
      url: `${prefix}/oauth2/v2/userinfo`,
      handler: (request, reply) => serve('userinfo', request, reply),
    })
  }
  app.route({
    method: ['GET', 'POST'],
    url: '/oauth2/v2/authorize',
    exposeHeadRoute: false,
    handler: (request, reply) => serve('authorize', request, reply),
  })
  app.get('/.well-known/jwks', (_request, reply) =>
    reply.header('Cache-Control', `public, max-age=${JWKS_SECONDS}`).send(jwks()),
  )
  app.get('/:api/.well-known/openid-configuration', discovery)
  app.get('/.well-known/oauth-authorization-server/:api', discovery)
  await app.ready()

  async function serve(
    endpoint: OauthCall['endpoint'],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const api = endpoint === 'authorize' ? '' : apiOf(request)
    if (endpoint !== 'authorize' && scopesOf(api) === null) return send(reply, noSuchApi())
    const { authorization, cookie } = request.headers
    const method = request.method === 'POST' ? 'POST' : 'GET'
    return send(reply, await ask({ endpoint, api, method, form: formOf(request), authorization, cookie }))
  }

  function discovery(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const api = apiOf(request)
    const scopes = scopesOf(api)
    return scopes === null ? send(reply, noSuchApi()) : reply.send(toDiscovery({ gatewayUrl, api, scopes }))
  }

  return {
    handle(request, response, path) {
      if (!PATHS.some(([pattern]) => pattern.test(path))) return false
      route(request, response)
      return true
    },
    close: () => app.close(),
  }
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
    return send(reply, refuse('temporarily_unavailable', 'This cannot be done at the moment.', 503))
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    reply.header('Allow', PATHS.find(([pattern]) => pattern.test(path))?.[1] ?? '')
    return send(reply, refuse('invalid_request', 'The method does not fit the path.', 405))
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

function noSuchApi(): OauthAnswer {
  return refuse('invalid_request', 'There is no such API.', 404)
}

function send(reply: FastifyReply, { status, headers, body }: OauthAnswer): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}
