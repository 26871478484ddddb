/**
 * The access of one credential: the response to a gateway thread that looks up a client id or key, and the
 * message that updates it when the credential changes.
 */

export interface Grant {
  readonly credential: string
  readonly type: 'OAuth2' | 'ApiKey' | 'PKCE' | 'Federated'
  /** False if it is revoked or expired, or its subscription is cancelled; calls are refused with 401. */
  readonly valid: boolean
  /** False while the subscription is pending or suspended, or the consumer or the tenant is disabled; calls are refused with 403. */
  readonly active: boolean
  /** 0 for never. */
  readonly expiresAtMs: number
  readonly tenant: string
  readonly subscription: string
  readonly consumer: string
  readonly consumerName: string
  readonly consumerKind: 'application' | 'agent'
  /** The API of a plain subscription; `''` for a product. */
  readonly api: string
  /** `''` for a plain subscription. */
  readonly apiProductId: string
  readonly scopes: readonly string[]
  readonly variant: string
  /** Later grants of the same credential carry a higher number; an older one never replaces a newer. */
  readonly version: number
}

/** The name by which a thread looks up a credential. */
export type CredentialName =
  | { readonly kind: 'client'; readonly clientId: string }
  /** Keyed hash of an API key, see `plan/credential-format.ts`. */
  | { readonly kind: 'key'; readonly hash: string }
  /** A client of a federated issuer at one API, since it has a subscription per API. */
  | {
      readonly kind: 'federated'
      readonly tenant: string
      readonly issuer: string
      readonly clientId: string
      readonly api: string
    }
