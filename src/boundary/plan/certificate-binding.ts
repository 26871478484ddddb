/** The binding of a credential to a client certificate, by the thumbprint of the certificate (RFC 8705, 3.1). */

import type { Caller } from './caller.ts'

/** SHA-256 in base64url: 256 bits in 43 characters, of which the last one carries four. */
const THUMBPRINT = /^[\w-]{42}[AEIMQUYcgkosw048]$/

/** The thumbprint of no certificate: a credential that is bound to it is refused on every connection. */
export const NO_CERTIFICATE = 'none'

export function isThumbprint(value: unknown): value is string {
  return typeof value === 'string' && THUMBPRINT.test(value)
}

/**
 * Reads the claim `cnf` of a token. Returns `''` if the token is not bound, and null if it is bound in a way that cannot be checked
 * here, such as to a key of its client (DPoP).
 */
export function readConfirmation(cnf: unknown): string | null {
  if (cnf === undefined) return ''
  if (typeof cnf !== 'object' || cnf === null || Array.isArray(cnf)) return null
  const [[name, value] = [], ...others] = Object.entries(cnf)
  return name === 'x5t#S256' && others.length === 0 && isThumbprint(value) ? value : null
}

/** Returns the certificate of a token, which must be that of its credential if both are bound. */
export function bindingOf(token: string, credential: string | undefined): string {
  if (credential === undefined || credential === token) return token
  if (token === '') return credential
  return NO_CERTIFICATE
}

/** Whether a credential of the caller is bound to a certificate. */
export function isBound({ certificate, key }: Pick<Caller, 'certificate' | 'key'>): boolean {
  return certificate !== '' || (key !== undefined && key.certificate !== '')
}
