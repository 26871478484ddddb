/**
 * A federated identity provider as plain data: everything that a gateway thread needs to verify its tokens.
 *
 * `keys` are the keys that the provider published at the last successful fetch; they stay valid while it is unreachable. A provider
 * serves only the APIs of its tenant.
 */

export interface ProviderPlan {
  readonly id: string
  readonly tenant: string
  /** Exact value of `iss`. */
  readonly issuer: string
  /** Required value of `aud`; `''` for the technical name of the called API. */
  readonly audience: string
  readonly claims: ProviderClaims
  /** Technical names; empty for every API of the tenant. */
  readonly apis: readonly string[]
  /** Public signing keys (RFC 7517) with allowed algorithms. */
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

/** Names of the claims. */
export interface ProviderClaims {
  /** `''` for `client_id` (RFC 9068), otherwise `azp` (OpenID Connect). */
  readonly clientId: string
  /** The value is a list of names, or names separated by spaces. `''` for `scope`, otherwise `scp`. */
  readonly scope: string
  /** The person on whose behalf the client calls; `''` for `sub`, unless it is the client itself. */
  readonly person: string
}
