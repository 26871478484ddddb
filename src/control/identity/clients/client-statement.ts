/**
 * Reads what a client says about itself, in a metadata document or a registration. Both come from strangers.
 *
 * The text has one reading: no duplicate member, bounded depth and number of members. The name is reduced to characters
 * that cannot imitate the page which shows it.
 */

import { redirectUriFault } from '../../access/redirect-uri.ts'
import { scanJson } from '../../../foundation/json/json-scan.ts'

export type Members = Readonly<Record<string, unknown>>

const BOUNDS = { depthMax: 8, membersMax: 200 }
const NAME_LENGTH_MAX = 64

/** Returns null unless the text is a JSON object with one reading. */
export function readMembers(text: string): Members | null {
  try {
    if (scanJson(text, BOUNDS) !== null) return null
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

export function readRedirectUris(
  value: unknown,
  numberMax: number,
): { readonly uris: readonly string[] } | { readonly fault: string } {
  if (!Array.isArray(value) || value.length === 0) return { fault: 'redirect_uris must list an address.' }
  if (value.length > numberMax) return { fault: `redirect_uris has more than ${numberMax} addresses.` }
  const uris: string[] = []
  for (const uri of value as readonly unknown[]) {
    const fault = typeof uri === 'string' ? redirectUriFault(uri) : 'A redirect URI must be a text.'
    if (fault !== null) return { fault }
    uris.push(uri as string)
  }
  return { uris }
}

/** Returns `''` if there is no name, or none of its characters can be shown. */
export function readName(name: unknown): string {
  const text =
    typeof name === 'string' ? name.slice(0, 4 * NAME_LENGTH_MAX).replaceAll(/[^\p{L}\p{M}\p{N} _-]/gu, '') : ''
  return Array.from(text.trim()).slice(0, NAME_LENGTH_MAX).join('')
}
