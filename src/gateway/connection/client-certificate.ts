/**
 * The certificate with which a client has proved its identity in the TLS handshake (RFC 8705).
 *
 * Only a certificate that verifies against the authorities of this service counts. It is read once per connection, by the first call
 * that needs it. A connection can outlive its certificate, so the caller compares the times at every call.
 */

import { createHash, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

export interface ClientCertificate {
  /** `x5t#S256`: the SHA-256 hash of the certificate in DER, in base64url. */
  readonly thumbprint: string
  readonly startsMs: number
  readonly endsMs: number
}

const known = new WeakMap<Socket, ClientCertificate | null>()

/** Returns null if the client has presented none, or one that does not verify. */
export function clientCertificateOf(socket: Socket): ClientCertificate | null {
  const found = known.get(socket)
  if (found !== undefined) return found
  const certificate = readCertificate(socket)
  known.set(socket, certificate)
  return certificate
}

/** Returns the thumbprint of a certificate that is valid at this time; null if there is none. */
export function thumbprintAt(socket: Socket, nowMs: number): string | null {
  const certificate = clientCertificateOf(socket)
  return certificate !== null && isValidAt(certificate, nowMs) ? certificate.thumbprint : null
}

export function isValidAt({ startsMs, endsMs }: ClientCertificate, nowMs: number): boolean {
  return startsMs <= nowMs && nowMs <= endsMs
}

/** A resumed session has the certificate of its first connection, and the result of its verification. */
function readCertificate(socket: Socket): ClientCertificate | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? null : toClientCertificate(certificate)
}

function toClientCertificate({ raw, validFromDate, validToDate }: X509Certificate): ClientCertificate {
  const thumbprint = createHash('sha256').update(raw).digest('base64url')
  return { thumbprint, startsMs: validFromDate.getTime(), endsMs: validToDate.getTime() }
}
