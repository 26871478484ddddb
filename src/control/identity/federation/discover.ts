/**
 * Fetches what a provider publishes: its discovery document (OpenID Connect Discovery, 4) and its key set.
 *
 * The document must name exactly the registered issuer (4.3), so that no provider can impersonate another. Responses are
 * bounded in size, and only keys that verify signatures are kept.
 */

import { toVerificationKey } from '../../../boundary/plan/verification-key.ts'
import type { GuardedFetch } from '../../../foundation/outbound/guarded-fetch.ts'
import { readSignInMetadata, type SignInMetadata } from './sign-in-metadata.ts'

export type PublicKey = Readonly<Record<string, string>>

export interface Published {
  readonly jwksUri: string
  readonly keys: readonly PublicKey[]
  /** Null: people cannot sign in. */
  readonly signIn: SignInMetadata | null
}

export interface DiscoveryFault {
  /** Shown to the customer who registers the provider. */
  readonly fault: string
}

const ANSWER_BYTES_MAX = 65_536
const KEYS_MAX = 100
const URL_LENGTH_MAX = 2_048
const TIMEOUT_MS = 4_000

export async function discover(issuer: string, fetch: GuardedFetch['fetch']): Promise<Published | DiscoveryFault> {
  if (/[?#]/.test(issuer)) return { fault: 'The issuer must have neither a query nor a fragment.' }
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await fetchObject(url, fetch)
  if ('fault' in document) return document
  const { issuer: named, jwks_uri: jwksUri } = document.value
  if (named !== issuer) return { fault: `The document at ${url} names another issuer.` }
  if (typeof jwksUri !== 'string' || jwksUri.length > URL_LENGTH_MAX)
    return { fault: `The document at ${url} has no valid jwks_uri.` }
  const keys = await fetchKeys(jwksUri, fetch)
  return 'fault' in keys ? keys : { jwksUri, keys: keys.keys, signIn: readSignInMetadata(issuer, document.value) }
}

export async function fetchKeys(
  jwksUri: string,
  fetch: GuardedFetch['fetch'],
): Promise<Pick<Published, 'keys'> | DiscoveryFault> {
  const document = await fetchObject(jwksUri, fetch)
  if ('fault' in document) return document
  const { keys } = document.value
  if (!Array.isArray(keys)) return { fault: `The document at ${jwksUri} is not a key set (RFC 7517).` }
  if (keys.length > KEYS_MAX) return { fault: `The key set at ${jwksUri} has more than ${KEYS_MAX} keys.` }
  return { keys: toUsable(keys) }
}

/** Sorts the keys, so that two key sets can be compared as JSON. */
function toUsable(keys: readonly unknown[]): readonly PublicKey[] {
  const usable = keys.map((key) => toVerificationKey(key)?.jwk).filter((jwk) => jwk !== undefined)
  return usable.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

async function fetchObject(
  url: string,
  fetch: GuardedFetch['fetch'],
): Promise<{ readonly value: Readonly<Record<string, unknown>> } | DiscoveryFault> {
  const headers = { accept: 'application/json' }
  const result = await fetch({ url, headers, timeoutMs: TIMEOUT_MS, bytesMax: ANSWER_BYTES_MAX })
  if (result.kind === 'failed') return { fault: `${url}: ${result.detail}` }
  if (result.status !== 200) return { fault: `${url} returned the status ${result.status}.` }
  try {
    const value: unknown = JSON.parse(result.body.toString('utf8'))
    if (typeof value === 'object' && value !== null) return { value: value as Record<string, unknown> }
  } catch {
    // Not JSON: the fault below covers it.
  }
  return { fault: `The response of ${url} is not a JSON object.` }
}
