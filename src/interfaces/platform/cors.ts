/**
 * Lets pages of other origins call the platform API from a browser (CORS; Fetch Standard, 3.3), if the operator names them.
 *
 * Only operations are open to them, with a credential that the page sends itself. `/metrics` is not: it may answer by where a caller
 * is. Neither are the console, whose requests have the path of an operation only after it was rewritten, nor any request with
 * cookies: `Access-Control-Allow-Credentials` is never sent.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EXPOSED_HEADERS, MAX_AGE_SECONDS } from '../../boundary/plan/cors.ts'
import type { AllowedMethods } from './allowed-methods.ts'
import { CONSUMER_HEADER } from './caller-owner.ts'
import { IDEMPOTENCY_HEADER } from './idempotency.ts'
import { PENDING_NODES_HEADER } from './serve.ts'

export interface CorsOptions {
  readonly origins: readonly string[]
  readonly allowedMethods: AllowedMethods
}

const METRICS_PATH = '/metrics'
const ACCEPTED = [
  'authorization',
  'content-type',
  'x-api-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  IDEMPOTENCY_HEADER,
  CONSUMER_HEADER,
]
  .join(', ')
  .toLowerCase()
const EXPOSED = ['Allow', 'ETag', 'Idempotency-Replayed', 'Location', ...EXPOSED_HEADERS, PENDING_NODES_HEADER].join(
  ', ',
)

/** Installed before everything that authenticates. Without origins the platform answers as if there were no CORS. */
export function installCors(app: FastifyInstance, { origins, allowedMethods }: CorsOptions): void {
  if (origins.length === 0) return
  const allowed = new Set(origins)
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin === undefined) return done()
    const methods = methodsAt(request, allowedMethods)
    if (methods.length === 0) return done()
    const isAllowed = allowed.has(origin)
    if (isAllowed)
      void reply.headers({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED })
    if (!isPreflight(request)) return done()
    if (isAllowed) allowRequest(reply, methods)
    void reply.code(204).send()
  })
  // A cache must not give the response for one origin to another one.
  app.addHook('onSend', (_, reply, payload, done) => {
    const vary = reply.getHeader('Vary')
    void reply.header('Vary', vary === undefined ? 'Origin' : `${String(vary)}, Origin`)
    done(null, payload)
  })
}

/** Returns the methods of the path as it was sent; none if it is not open to other origins. */
function methodsAt({ originalUrl }: FastifyRequest, allowedMethods: AllowedMethods): readonly string[] {
  const path = originalUrl.split('?', 1)[0] ?? ''
  return path === METRICS_PATH ? [] : allowedMethods(path)
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

function allowRequest(reply: FastifyReply, methods: readonly string[]): void {
  reply.removeHeader('Access-Control-Expose-Headers')
  void reply.headers({
    'Access-Control-Allow-Methods': methods.toSorted().join(', '),
    'Access-Control-Allow-Headers': ACCEPTED,
    'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
  })
}
