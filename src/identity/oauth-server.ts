/**
 * The OAuth paths of a gateway thread: token endpoint, keys, discovery.
 *
 * fastify without a server of its own: the gateway's server hands requests over (`serverFactory`).
 * Forms are read strictly, so that a parameter that comes twice is seen. What discovery lists is what
 * works.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import type { IssueToken } from './token-issuer.ts'

export interface OauthServerOptions {
  readonly gatewayUrl: string
  readonly issue: IssueToken
  readonly jwks: () => object
  /** Scopes of an API, null where there is no such API. */
  readonly scopesOf: (api: string) => readonly string[] | null
  /** Hears why a token could not be issued; clients do not. */
  readonly onFailure?: (cause: unknown) => void
}

export interface OauthServer {
  /** Answers false where the path is none of its own. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): boolean
  close(): Promise<void>
}

interface ApiParams {
  Params: { api: string }
}

const FORM_BYTES_MAX = 16_384
const JWKS_SECONDS = 300
const TOKEN_PATH = /^\/[^/]+(\/v1)?\/oauth2\/v2\/token$/
const PATHS = [
  TOKEN_PATH,
  /^\/[^/]+\/\.well-known\/openid-configuration$/,
  /^\/\.well-known\/(jwks|oauth-authorization-server\/[^/]+)$/,
]

export async function createOauthServer({
  gatewayUrl,
  issue,
  jwks,
  scopesOf,
  onFailure = () => {},
}: OauthServerOptions): Promise<OauthServer> {
  let route: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const app = fastify({
    logger: false,
    bodyLimit: FORM_BYTES_MAX,
    exposeHeadRoutes: false,
    serverFactory(handler) {
      route = handler
      return createServer()
    },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, [...new URLSearchParams(String(body))]),
  )
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const { statusCode: status = 500 } = error
    if (status < 500) {
      const description = 'Send an application/x-www-form-urlencoded body of at most 16 KB.'
      return refuse(reply, status, 'invalid_request', description)
    }
    onFailure(error)
    reply.header('Retry-After', '1')
    return refuse(reply, 503, 'temporarily_unavailable', 'The token cannot be issued at the moment.')
  })
  app.setNotFoundHandler((request, reply) => {
    reply.header('Allow', TOKEN_PATH.test(request.url.split('?', 1)[0] ?? '') ? 'POST' : 'GET')
    return refuse(reply, 405, 'invalid_request', 'The method does not fit the path.')
  })

  async function token(request: FastifyRequest<ApiParams>, reply: FastifyReply): Promise<unknown> {
    const { api } = request.params
    if (scopesOf(api) === null) return refuse(reply, 404, 'invalid_request', 'There is no such API.')
    const form = Array.isArray(request.body) ? (request.body as [string, string][]) : []
    const { status, headers, body } = await issue({ api, form, authorization: request.headers.authorization })
    return reply.code(status).headers(headers).send(body)
  }

  function discovery(request: FastifyRequest<ApiParams>, reply: FastifyReply): unknown {
    const { api } = request.params
    const scopes = scopesOf(api)
    if (scopes === null) return refuse(reply, 404, 'invalid_request', 'There is no such API.')
    const issuer = `${gatewayUrl}/${api}`
    return reply.send({
      issuer,
      token_endpoint: `${issuer}/oauth2/v2/token`,
      jwks_uri: `${gatewayUrl}/.well-known/jwks`,
      scopes_supported: scopes,
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    })
  }

  app.post('/:api/oauth2/v2/token', token)
  app.post('/:api/v1/oauth2/v2/token', token)
  app.get('/.well-known/jwks', (_request, reply) =>
    reply.header('Cache-Control', `public, max-age=${JWKS_SECONDS}`).send(jwks()),
  )
  app.get('/:api/.well-known/openid-configuration', discovery)
  app.get('/.well-known/oauth-authorization-server/:api', discovery)
  await app.ready()

  return {
    handle(request, response, path) {
      if (!PATHS.some((pattern) => pattern.test(path))) return false
      route(request, response)
      return true
    },
    close: () => app.close(),
  }
}

function refuse(reply: FastifyReply, status: number, error: string, description: string): unknown {
  return reply.code(status).header('Cache-Control', 'no-store').send({ error, error_description: description })
}
