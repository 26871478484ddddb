/**
 * Decides who may read `/metrics`, which names the APIs of all tenants.
 *
 * By default the peer of the connection must be on this machine. Forwarding headers are never trusted, and a request
 * that carries one is refused: behind a proxy on this machine every peer would look local.
 */

import { proxiedAddress } from '../../foundation/runtime/client-address.ts'
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../foundation/domain/problem.ts'

export type MetricsAccess =
  | { readonly kind: 'loopback' }
  | { readonly kind: 'token'; readonly token: string }
  /** Any peer that reaches the port. */
  | { readonly kind: 'open' }
  /** Metrics are served on a separate port. */
  | { readonly kind: 'elsewhere' }

export interface MetricsRequest {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

const FORWARDING = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']
const LOOPBACK = /^(?:(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/i

/** Returns why the request is refused, or null. */
export function refuseMetrics(access: MetricsAccess, { headers, socket }: MetricsRequest): Problem | null {
  switch (access.kind) {
    case 'open':
      return null
    case 'elsewhere':
      return new Problem('not_found', 'Metrics are served on a separate port (METRICS_PORT).')
    case 'token':
      return refuseToken(access.token, headers.authorization)
    case 'loopback': {
      const isProxied = proxiedAddress(socket) !== undefined
      const isLocal =
        !isProxied && LOOPBACK.test(socket.remoteAddress ?? '') && !FORWARDING.some((name) => name in headers)
      return isLocal
        ? null
        : new Problem(
            'operation_forbidden',
            'Metrics are available from this machine only, unless METRICS_TOKEN or METRICS_PORT is set.',
          )
    }
    default:
      return access satisfies never
  }
}

function refuseToken(token: string, authorization: string | undefined): Problem | null {
  if (authorization === undefined) return new Problem('credential_missing', 'Send the metrics token as a bearer token.')
  const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''
  // The comparison in constant time requires inputs of equal length, which hashes have.
  if (timingSafeEqual(hashOf(given), hashOf(token))) return null
  return new Problem('credential_invalid', 'This is not the metrics token.')
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
