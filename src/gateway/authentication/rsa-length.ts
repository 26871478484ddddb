/**
 * Length of RSA signatures.
 *
 * A signature is as long as the modulus of its key (RFC 8017, 8.1.2 and 8.2.2). OpenSSL also accepts a signature
 * without its leading zeros, so that one token would have two valid texts.
 */

import type { KeyObject } from 'node:crypto'

export function isRsaLength(key: KeyObject, signature: Buffer): boolean {
  return signature.length === Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
}
