/**
 * Parses a JWT in compact form (RFC 7519, RFC 7515), without verifying it.
 *
 * A token has exactly one reading: one encoding of each part, UTF-8 only, and no duplicate member (RFC 7515, 4 lets
 * parsers differ on which one counts). The gateway supports no extension, so it refuses every token with `crit`.
 */

import { scanJson } from '../../foundation/json/json-scan.ts'

export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  /** The text that was signed. */
  readonly signed: string
  readonly signature: Buffer
}

export interface Fault {
  readonly fault: string
}

export const TOKEN_LENGTH_MAX = 12_288
const BOUNDS = { depthMax: 16, membersMax: 1_000 }
const BASE64URL = /^[A-Za-z0-9_-]+$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readJwt(token: string): Jwt | Fault {
  if (token.length > TOKEN_LENGTH_MAX) return { fault: `The token is longer than ${TOKEN_LENGTH_MAX} characters.` }
  const parts = token.split('.', 4)
  const [head = '', body = '', tail = ''] = parts
  if (parts.length !== 3 || !BASE64URL.test(head) || !BASE64URL.test(body) || !BASE64URL.test(tail)) {
    return { fault: 'The token is not a signed JWT.' }
  }
  const header = readPart(head)
  if (header === null) return { fault: 'The header of the token is not a valid JSON object.' }
  if (header['crit'] !== undefined) return { fault: 'The token requires an extension (crit) that is not supported.' }
  const claims = readPart(body)
  if (claims === null) return { fault: 'The claims of the token are not a valid JSON object.' }
  const signature = Buffer.from(tail, 'base64url')
  // The unused bits of the last character must be zero, or the signature has several encodings.
  if (signature.toString('base64url') !== tail) return { fault: 'The signature of the token is invalid.' }
  return { header, claims, signed: `${head}.${body}`, signature }
}

function readPart(part: string): Readonly<Record<string, unknown>> | null {
  try {
    const text = utf8.decode(Buffer.from(part, 'base64url'))
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    return scanJson(text, BOUNDS) === null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
