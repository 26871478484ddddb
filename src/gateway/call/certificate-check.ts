/**
 * Checks that a call comes over the client certificate that its credentials are bound to (RFC 8705, 3).
 *
 * Verified credentials are cached by their text, and several connections may send the same text. The check is therefore made at
 * every call, on the connection of the call.
 */

import type { Socket } from 'node:net'
import type { Caller } from '../../boundary/plan/caller.ts'
import { isBound } from '../../boundary/plan/certificate-binding.ts'
import { clientCertificateOf, isValidAt } from '../connection/client-certificate.ts'

/**
 * Returns why a call is refused; null if it is not. With `isRequired`, each of its credentials must be bound, also if the operation
 * needs only one of them.
 */
export function findCertificateFault(
  caller: Caller,
  isRequired: boolean,
  socket: Socket,
  nowMs: number,
): string | null {
  if (!isRequired && !isBound(caller)) return null
  const presented = clientCertificateOf(socket)
  if (presented === null) {
    return isRequired
      ? 'The operation requires a client certificate, and the connection has none that verifies.'
      : 'The credential is bound to a client certificate, and the connection has none that verifies.'
  }
  if (!isValidAt(presented, nowMs)) return 'The client certificate of the connection has expired, or is not valid yet.'
  const { certificate, key } = caller
  for (const bound of key === undefined ? [certificate] : [certificate, key.certificate]) {
    if (bound !== '' && bound !== presented.thumbprint) return 'The credential is bound to another client certificate.'
    if (bound === '' && isRequired)
      return 'The operation requires a credential that is bound to the client certificate.'
  }
  return null
}
