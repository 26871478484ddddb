/** Serves `/metrics` on a separate port: to any peer, or to holders of the token if one is set. */

import { createServer } from '../../foundation/runtime/node-http.ts'
import { Problem, problemDocument } from '../../foundation/domain/problem.ts'
import { refuseMetrics, type MetricsAccess } from './metrics-access.ts'
import type { Opened } from '../../foundation/runtime/lifecycle.ts'
import type { Metrics } from '../../foundation/runtime/metrics.ts'

export interface MetricsPortOptions {
  readonly host: string
  /** Null: any peer that reaches the port may read. */
  readonly token: string | null
  readonly port: number
  readonly reusePort: boolean
  readonly metrics: Metrics
  readonly recorder: { newRequestId(): string }
  readonly opened: Opened
}

/** Returns who may read `/metrics` on the platform's port. */
export function metricsAccess({
  metricsPort,
  metricsToken,
}: {
  readonly metricsPort: number | null
  readonly metricsToken: string | null
}): MetricsAccess {
  if (metricsPort !== null) return { kind: 'elsewhere' }
  return metricsToken === null ? { kind: 'loopback' } : { kind: 'token', token: metricsToken }
}

/** Resolves when the port is bound. */
export async function openMetricsPort(options: MetricsPortOptions): Promise<void> {
  const { host, token, port, reusePort, metrics, recorder, opened } = options
  const access: MetricsAccess = token === null ? { kind: 'open' } : { kind: 'token', token }
  const { contentType } = metrics.registry

  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 16_384 }, (request, response) => {
    const refuse = ({ code, status, message }: Problem): void => {
      const requestId = recorder.newRequestId()
      const body = JSON.stringify(problemDocument(code, message, requestId))
      if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
      if (status === 405) response.setHeader('Allow', 'GET, HEAD')
      response.writeHead(status, { 'Content-Type': 'application/problem+json', 'X-Request-Id': requestId }).end(body)
    }
    request.resume()
    if (request.url?.split('?', 1)[0] !== '/metrics')
      return refuse(new Problem('not_found', 'This path does not exist.'))
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(new Problem('method_not_allowed', 'This path supports GET, HEAD.'))
    const refused = refuseMetrics(access, request)
    if (refused !== null) return refuse(refused)
    metrics.registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': contentType }).end(text),
      () => refuse(new Problem('internal', 'The metrics could not be read.')),
    )
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host, port, reusePort }, resolve)
  await promise
  opened('metrics port', async () => {
    const ended = new Promise<void>((done) => server.close(() => done()))
    server.closeAllConnections()
    await ended
  })
}
