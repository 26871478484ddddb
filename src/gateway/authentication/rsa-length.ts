/**
 * A signature by an RSA key is as long as its modulus (RFC 8017, 8.1.2 and 8.2.2). The library also takes
 * one whose leading zeros were cut off: two texts of one token.
 */

import type { KeyObject } from 'node:crypto'

export function isRsaLength(key: KeyObject, signature: Buffer): boolean {
  return signature.length === Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
}
