/** Outcome of a call whose connection to the backend failed, by the code of the error. */

import { CLOSED_BEFORE_RESPONSE, REQUEST_INVALID } from '../connection/exchange.ts'
import { BACKEND_ADDRESS_REFUSED, BACKEND_CONNECTIONS_FULL } from './backend-connect.ts'

export type UpstreamFailure = 'upstream_broken' | 'upstream_refused' | 'upstream_timeout'

export const UPSTREAM_DETAILS: Readonly<Record<UpstreamFailure, string>> = {
  upstream_refused: 'The backend of this API does not accept connections.',
  upstream_broken: 'The backend of this API sent an incomplete or invalid response.',
  upstream_timeout: 'The backend of this API did not respond in time.',
}

/** The backend closed the connection during the request. */
export const RESET: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', CLOSED_BEFORE_RESPONSE, 'UND_ERR_SOCKET'])

const TIMED_OUT: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])
/** The gateway built a request that cannot be sent, which is not the backend's fault. */
const NOT_SENT: ReadonlySet<string> = new Set([
  REQUEST_INVALID,
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_CLOSED',
])
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  BACKEND_ADDRESS_REFUSED,
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_REJECTED',
  'CERT_UNTRUSTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
/** Start of the codes of a TLS handshake that failed, such as a backend that refuses the certificate of the gateway. */
const TLS_FAILED = 'ERR_SSL_'

/** The gateway has reached its limit of connections or open files, which is not the backend's fault. */
const FULL: ReadonlySet<string> = new Set([BACKEND_CONNECTIONS_FULL, 'EMFILE', 'ENFILE', 'ENOBUFS'])

export function toOutcome(code: string): UpstreamFailure | 'backend_busy' | 'internal' {
  if (FULL.has(code)) return 'backend_busy'
  if (TIMED_OUT.has(code)) return 'upstream_timeout'
  if (UNREACHABLE.has(code) || code.startsWith(TLS_FAILED)) return 'upstream_refused'
  return NOT_SENT.has(code) ? 'internal' : 'upstream_broken'
}
