/**
 * The access of one credential: the response to a gateway thread that looks up a client id or key, and the
 * message that updates it when the credential changes.
 */

export interface Grant {
  readonly credential: string
  readonly type: 'OAuth2' | 'ApiKey' | 'PKCE' | 'Federated'
  /** False once revoked or expired, or its subscription is cancelled: 401. */
  readonly valid: boolean
  /** False while the subscription is pending or suspended: 403. */
  readonly active: boolean
  /** 0: never. */
  readonly expiresAtMs: number
  readonly tenant: string
  readonly subscription: string
  readonly consumer: string
  readonly consumerName: string
  readonly consumerKind: 'application' | 'agent'
  /** The one API of a plain subscription; `''` for a product. */
  readonly api: string
  /** `''` for a plain subscription. */
  readonly apiProductId: string
  readonly scopes: readonly string[]
  readonly variant: string
  /** Later grants of the same credential carry a higher number; an older one never replaces a newer. */
  readonly version: number
}

/** How a thread names the credential it has seen. */
export type CredentialName =
  | { readonly kind: 'client'; readonly clientId: string }
  /** Keyed hash of an API key, see `plan/credential-format.ts`. */
  | { readonly kind: 'key'; readonly hash: string }
  /** A client of a federated issuer, at one API: it holds a subscription for each API that it calls. */
  | {
      readonly kind: 'federated'
      readonly tenant: string
      readonly issuer: string
      readonly clientId: string
      readonly api: string
    }
