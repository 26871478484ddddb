/**
 * A federated identity provider as plain data: all that a gateway thread needs to judge a token of it.
 *
 * `keys` are what the provider published when it was last reached; they go on to be served while it is
 * away. A provider serves the APIs of its own tenant alone.
 */

export interface ProviderPlan {
  readonly id: string
  readonly tenant: string
  /** Exactly as tokens name it in `iss`. */
  readonly issuer: string
  /** Required value of `aud`; `''`: the technical name of the API that is called. */
  readonly audience: string
  readonly claims: ProviderClaims
  /** Technical names; empty: every API of the tenant. */
  readonly apis: readonly string[]
  /** Public keys (RFC 7517), signing keys of the allowed algorithms alone. */
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

/** Names of the claims that are read. */
export interface ProviderClaims {
  /** `''`: `client_id` (RFC 9068), else `azp` (OpenID Connect). */
  readonly clientId: string
  /** A text of names parted by spaces, or a list of names; `''`: `scope`, else `scp`. */
  readonly scope: string
  /** The person in whose name the client calls; `''`: `sub`, where it is not the client itself. */
  readonly person: string
}
