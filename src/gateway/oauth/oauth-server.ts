/**
 * The OAuth paths of a gateway thread: reads requests for the endpoints, which the main thread executes, and serves keys and
 * discovery documents itself.
 *
 * fastify does not open a server, and does not see the connections of the gateway: it gets requests with their bodies, and returns
 * responses (`inject`). Forms and queries are read as pairs, so that repeated parameters can be detected.
 */

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { toDiscovery, toMcpResource, toProtectedResource, type Discovered } from './discovery.ts'
import { PLATFORM_API } from '../../domain/platform-api.ts'
import { refuse, type OauthAnswer, type OauthCall } from '../../plan/oauth-call.ts'
import type { ClientAddress } from '../../runtime/client-address.ts'
import { thumbprintAt } from '../connection/client-certificate.ts'
import type { ClientRequest, ClientResponse } from '../connection/client.ts'
import { discardRest } from '../connection/discard-body.ts'
import { toResponseFields } from '../connection/response-fields.ts'
import { createCorsRules, type CorsRules } from '../cors/cors-rules.ts'
import { answerPreflight, isPreflight, type CorsRequest } from '../cors/preflight.ts'
import { createOauthCors, OAUTH_REQUEST_HEADERS } from './oauth-cors.ts'
import { DEVICE_AUTHORIZATION, PAGES, PATHS, REGISTRATION_PATH } from './oauth-paths.ts'
import { formOf, jsonOf } from './read-body.ts'
import { readForm } from './read-form.ts'

export interface OauthServerOptions {
  readonly gatewayUrl: string
  /** Executes a request to an endpoint on the main thread. */
  readonly execute: (call: OauthCall) => Promise<OauthAnswer>
  readonly jwks: () => object
  /** Returns the scopes of an API; null if no such API is published. */
  readonly scopesOf: (api: string) => readonly string[] | null
  /** Whether clients can register themselves (RFC 7591); otherwise the path does not exist. */
  readonly allowsRegistration?: boolean
  /** Origins whose pages may use the endpoint that serves all APIs; missing: none. */
  readonly corsOrigins?: readonly string[]
  /** Whether clients are asked for certificates. */
  readonly asksForCertificate?: boolean
  readonly nowMs?: () => number
  /** Null or missing: the address of the connection is that of the client. */
  readonly clientAddress?: ClientAddress | null
  /** Receives the cause of a 503; the client does not get it. */
  readonly onFailure?: (cause: unknown) => void
}

export interface OauthServer {
  /** Returns false if the path is not one of the OAuth paths. `ofApi` are the rules of the API in it. */
  handle(
    request: ClientRequest,
    response: ClientResponse,
    path: string,
    headers: CorsRequest,
    ofApi: CorsRules | null,
  ): boolean
  close(): Promise<void>
}

/** Passes the thumbprint of the client certificate to the handlers. It replaces a header of this name that a client sends. */
const CERTIFICATE_HEADER = 'tollgate-certificate-thumbprint'
const BODY_BYTES_MAX = 16_384
const JWKS_SECONDS = 300
const NO_FORM = 'Send an application/x-www-form-urlencoded body of at most 16 KB.'
const NO_JSON = 'Send an application/json body of at most 16 KB.'

/** Without it, each gateway thread loads the compilers of fastify, which are the only ones that its types know. No path has a schema. */
const NO_SCHEMAS = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
} as never

const DISCOVERY = [
  ['/:api/.well-known/openid-configuration', toDiscovery],
  ['/.well-known/oauth-authorization-server/:api', toDiscovery],
  ['/.well-known/oauth-protected-resource/:api', (api: Discovered) => toProtectedResource(api)],
  ['/.well-known/oauth-protected-resource/:api/mcp', toMcpResource],
] as const

export async function createOauthServer(options: OauthServerOptions): Promise<OauthServer> {
  const { allowsRegistration = false, corsOrigins = [] } = options
  const paths = allowsRegistration ? [...PATHS, REGISTRATION_PATH] : PATHS
  const app = fastify({ logger: false, bodyLimit: BODY_BYTES_MAX, schemaController: NO_SCHEMAS })
  installForms(app, options, paths)
  addEndpoints(app, options)
  addCallback(app, options)
  addDiscovery(app, options)
  if (allowsRegistration) addRegistration(app, options)
  await app.ready()
  const corsOf = createOauthCors(corsOrigins.length === 0 ? null : createCorsRules({ origins: corsOrigins }))

  return {
    handle(request, response, path, headers, ofApi) {
      const found = paths.find(([pattern]) => pattern.test(path))
      if (found === undefined) return false
      const cors = corsOf(path, ofApi)
      if (cors !== null && isPreflight(request, headers)) {
        const lines = cors.preflightLines(headers.origin, found[1], OAUTH_REQUEST_HEADERS)
        answerPreflight(request, response, lines, headers)
        return true
      }
      const corsLines = cors === null ? '' : cors.linesFor(headers.origin)
      readForm(request, BODY_BYTES_MAX, (body) => void answer(app, options, request, response, body, corsLines))
      return true
    },
    close: () => app.close(),
  }
}

/** Headers of a message on the connection of the client, which its server writes. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date'])

async function answer(
  app: FastifyInstance,
  { clientAddress = null, nowMs = Date.now, onFailure = () => {} }: OauthServerOptions,
  request: ClientRequest,
  response: ClientResponse,
  body: Buffer,
  corsLines: string,
): Promise<void> {
  try {
    const { method = '', url = '', socket } = request
    // The body is at hand, whatever framed it; one that is too long is cut just above the limit.
    const { 'transfer-encoding': _coding, 'content-length': _length, ...headers } = request.headers
    const address = clientAddress === null ? socket.remoteAddress : clientAddress(request)
    if (address === undefined) return response.breakOff()
    const {
      statusCode,
      headers: answered,
      rawPayload,
    } = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...headers, [CERTIFICATE_HEADER]: thumbprintAt(socket, nowMs()) ?? '' },
      remoteAddress: address,
      ...(body.length > 0 && { payload: body }),
    })
    if (response.destroyed) return
    const head: string[] = []
    for (const [name, value] of Object.entries(answered)) {
      if (value === undefined || HOP_BY_HOP.has(name)) continue
      for (const item of [value].flat()) head.push(name, String(item))
    }
    const isUnread = !request.complete
    const fields = toResponseFields(head, isUnread)
    response.start(statusCode, { ...fields, lines: fields.lines + corsLines })
    if (isUnread) discardRest(request, response, socket)
    response.end(rawPayload)
  } catch (cause) {
    onFailure(cause)
    response.breakOff()
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
function addCallback(app: FastifyInstance, options: OauthServerOptions): void {
  app.get('/oauth2/v2/callback/:provider', { exposeHeadRoute: false }, async (request, reply) => {
    const { cookie } = request.headers
    const { provider } = request.params as { readonly provider: string }
    const call = { endpoint: 'callback', api: '', provider, method: 'GET', authorization: undefined, cookie } as const
    return send(reply, await options.execute({ ...call, form: formOf(request), address: addressOf(request) }))
  })
}

/** The only endpoint that takes JSON, in a scope of its own. */
function addRegistration(app: FastifyInstance, options: OauthServerOptions): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    installErrors(scope, options, 'invalid_client_metadata', NO_JSON)
    scope.post('/:api/oauth2/v2/register', (request, reply) => serve(options, 'register', request, reply))
  })
}

function addDiscovery(app: FastifyInstance, options: OauthServerOptions): void {
  const { gatewayUrl, jwks, scopesOf, allowsRegistration = false, asksForCertificate = false } = options
  app.get('/.well-known/jwks', (_request, reply) =>
    reply.header('Cache-Control', `public, max-age=${JWKS_SECONDS}`).send(jwks()),
  )
  for (const [path, toDocument] of DISCOVERY) {
    app.get(path, (request, reply) => {
      const api = apiOf(request)
      const scopes = scopesOf(api)
      return scopes === null
        ? send(reply, noSuchApi())
        : reply.send(
            toDocument({
              gatewayUrl,
              api,
              scopes,
              allowsRegistration,
              bindsTokens: asksForCertificate && api !== PLATFORM_API,
            }),
          )
    })
  }
}

async function serve(
  options: OauthServerOptions,
  endpoint: OauthCall['endpoint'],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { scopesOf, execute } = options
  const isShared = endpoint === DEVICE_AUTHORIZATION || PAGES.some((page) => page === endpoint)
  const api = isShared ? '' : apiOf(request)
  if (!isShared && scopesOf(api) === null) return send(reply, noSuchApi())
  const { authorization, cookie } = request.headers
  const method = request.method === 'POST' ? 'POST' : 'GET'
  const headers = { authorization, cookie, address: addressOf(request), ...certificateOf(request) }
  if (endpoint === 'register') {
    return send(reply, await execute({ endpoint, api, method, form: [], json: jsonOf(request), ...headers }))
  }
  return send(reply, await execute({ endpoint, api, method, form: formOf(request), ...headers }))
}

function installForms(app: FastifyInstance, options: OauthServerOptions, paths: typeof PATHS): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, [...new URLSearchParams(String(body))]),
  )
  installErrors(app, options, 'invalid_request', NO_FORM)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    reply.header('Allow', paths.find(([pattern]) => pattern.test(path))?.[1] ?? '')
    return send(
      reply,
      refuse('invalid_request', 'This path does not accept the method of the request; see the Allow header.', 405),
    )
  })
}

/** Answers bodies that cannot be read with `error`. */
function installErrors(
  app: FastifyInstance,
  { onFailure = () => {} }: OauthServerOptions,
  error: string,
  description: string,
): void {
  app.setErrorHandler<Error & { statusCode?: number }>((cause, _request, reply) => {
    const { statusCode: status = 500 } = cause
    if (status < 500) return send(reply, refuse(error, description, status))
    onFailure(cause)
    reply.header('Retry-After', '1')
    return send(
      reply,
      refuse('temporarily_unavailable', 'The server cannot process this request at the moment. Retry later.', 503),
    )
  })
}

function apiOf(request: FastifyRequest): string {
  return (request.params as { readonly api?: string }).api ?? ''
}

function certificateOf({ headers }: FastifyRequest): Pick<OauthCall, 'certificate'> {
  const thumbprint = headers[CERTIFICATE_HEADER]
  return typeof thumbprint === 'string' && thumbprint !== '' ? { certificate: thumbprint } : {}
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
