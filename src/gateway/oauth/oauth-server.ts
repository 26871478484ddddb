/**
 * The OAuth paths of a gateway thread: reads requests for the endpoints, which the main thread executes, and serves keys and
 * discovery documents itself.
 *
 * Forms and queries are read as pairs, so that repeated parameters can be detected.
 */

import { toDiscovery, toMcpResource, toProtectedResource } from './discovery.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { refuse, type OauthAnswer, type OauthCall } from '../../boundary/plan/oauth-call.ts'
import type { ClientAddress } from '../../foundation/runtime/client-address.ts'
import { thumbprintAt } from '../connection/client-certificate.ts'
import type { ClientRequest, ClientResponse } from '../connection/client.ts'
import { discardRest } from '../connection/discard-body.ts'
import { toResponseFields } from '../connection/response-fields.ts'
import { createCorsRules, type CorsRules } from '../cors/cors-rules.ts'
import { answerPreflight, isPreflight, type CorsRequest } from '../cors/preflight.ts'
import { createOauthCors, OAUTH_REQUEST_HEADERS } from './oauth-cors.ts'
import { createOauthPathReader, type OauthPath } from './oauth-paths.ts'
import { BODY_BYTES_MAX, hasMediaType, readBody, readForm, readJson, readQuery } from './read-body.ts'

export interface OauthOptions {
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

/** Returns false if the path is not one of the OAuth paths. `cors` are the rules of the API whose path it is; null if it has none. */
export type OauthHandler = (
  request: ClientRequest,
  response: ClientResponse,
  path: string,
  headers: CorsRequest,
  cors: CorsRules | null,
) => boolean

const JWKS_SECONDS = 300
const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const NO_FORM = `Send an ${FORM} body of at most 16 KB.`
const NO_JSON = `Send an ${JSON_TYPE} body of at most 16 KB.`

export function createOauthHandler(options: OauthOptions): OauthHandler {
  const { allowsRegistration = false, corsOrigins = [] } = options
  const readPath = createOauthPathReader(allowsRegistration)
  const corsOf = createOauthCors(corsOrigins.length === 0 ? null : createCorsRules({ origins: corsOrigins }))

  return (request, response, path, headers, ofApi) => {
    const found = readPath(path)
    if (found === null) return false
    const cors = corsOf(path, ofApi)
    if (cors !== null && isPreflight(request, headers)) {
      const lines = cors.preflightLines(headers.origin, found.methods, OAUTH_REQUEST_HEADERS)
      answerPreflight(request, response, lines, headers)
      return true
    }
    const corsLines = cors === null ? '' : cors.linesFor(headers.origin)
    readBody(request, (body) => void answer(options, found, request, response, body, corsLines))
    return true
  }
}

async function answer(
  options: OauthOptions,
  path: OauthPath,
  request: ClientRequest,
  response: ClientResponse,
  body: Buffer,
  corsLines: string,
): Promise<void> {
  const { clientAddress = null, onFailure = () => {} } = options
  try {
    const address = clientAddress === null ? request.socket.remoteAddress : clientAddress(request)
    if (address === undefined) return response.breakOff()
    const answered = await answerOf(options, path, request, body, address).catch((cause: unknown) => {
      onFailure(cause)
      return unavailable()
    })
    if (!response.destroyed) send(request, response, answered, corsLines)
  } catch (cause) {
    onFailure(cause)
    response.breakOff()
  }
}

async function answerOf(
  options: OauthOptions,
  path: OauthPath,
  request: ClientRequest,
  body: Buffer,
  address: string,
): Promise<OauthAnswer> {
  const { served, api, provider, methods } = path
  if (!methods.split(', ').includes(request.method ?? '')) {
    const refused = 'This path does not accept the method of the request; see the Allow header.'
    return withHeader(refuse('invalid_request', refused, 405), 'Allow', methods)
  }
  if (served === 'jwks') return document(options.jwks(), { 'Cache-Control': `public, max-age=${JWKS_SECONDS}` })
  if (served === 'issuer' || served === 'resource' || served === 'mcp-resource') return discover(options, served, api)
  const isPost = request.method === 'POST'
  const refused = isPost ? refusedBody(served, request, body) : null
  if (refused !== null) return refused
  if (api !== '' && options.scopesOf(api) === null) return noSuchApi()
  const { authorization, cookie } = request.headers
  const thumbprint = thumbprintAt(request.socket, (options.nowMs ?? Date.now)())
  return options.execute({
    endpoint: served,
    api,
    ...(provider !== '' && { provider }),
    method: isPost ? 'POST' : 'GET',
    ...(served === 'register'
      ? { form: [], json: readJson(body) }
      : { form: isPost ? readForm(body) : readQuery(request.url ?? '') }),
    ...{ authorization, cookie, address },
    ...(thumbprint !== null && { certificate: thumbprint }),
  })
}

/** Returns null if the body has the type and the size that the endpoint takes, or if there is none. */
function refusedBody(served: OauthCall['endpoint'], { headers }: ClientRequest, body: Buffer): OauthAnswer | null {
  const type = headers['content-type']
  if (type === undefined && body.length === 0) return null
  const isRegistration = served === 'register'
  const hasType = hasMediaType(type, isRegistration ? JSON_TYPE : FORM)
  if (hasType && body.length <= BODY_BYTES_MAX) return null
  const [error, description] = isRegistration ? ['invalid_client_metadata', NO_JSON] : ['invalid_request', NO_FORM]
  return refuse(error, description, hasType ? 413 : 415)
}

function discover(options: OauthOptions, served: 'issuer' | 'resource' | 'mcp-resource', api: string): OauthAnswer {
  const { gatewayUrl, scopesOf, allowsRegistration = false, asksForCertificate = false } = options
  const scopes = scopesOf(api)
  if (scopes === null) return noSuchApi()
  const discovered = { gatewayUrl, api, scopes }
  if (served === 'resource') return document(toProtectedResource(discovered))
  if (served === 'mcp-resource') return document(toMcpResource(discovered))
  const bindsTokens = asksForCertificate && api !== PLATFORM_API
  return document(toDiscovery({ ...discovered, allowsRegistration, bindsTokens }))
}

function document(body: object, headers: OauthAnswer['headers'] = {}): OauthAnswer {
  return { status: 200, headers, body, signal: null }
}

function unavailable(): OauthAnswer {
  const description = 'The server cannot process this request at the moment. Retry later.'
  return withHeader(refuse('temporarily_unavailable', description, 503), 'Retry-After', '1')
}

function noSuchApi(): OauthAnswer {
  return refuse('invalid_request', 'No API with this name is published here.', 404)
}

function withHeader(answered: OauthAnswer, name: string, value: string): OauthAnswer {
  return { ...answered, headers: { ...answered.headers, [name]: value } }
}

function send(request: ClientRequest, response: ClientResponse, answered: OauthAnswer, corsLines: string): void {
  const { status, headers, body } = answered
  const isText = typeof body === 'string'
  const bytes = Buffer.from(body === null ? '' : isText ? body : JSON.stringify(body))
  const head = Object.entries(headers).flat()
  if (body !== null && !Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')) {
    head.push('Content-Type', isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8')
  }
  head.push('Content-Length', String(bytes.length))
  const isUnread = !request.complete
  const fields = toResponseFields(head, isUnread)
  response.start(status, { ...fields, lines: fields.lines + corsLines })
  if (isUnread) discardRest(request, response, request.socket)
  response.end(request.method === 'HEAD' ? null : bytes)
}
