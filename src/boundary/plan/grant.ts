/**
 * The access of one credential: the response to a gateway thread that looks up a client id or key, and the
 * message that updates it when the credential changes.
 *
 * Shared clients have no credential. The grant of their tokens is the access to one subscription, with the id of the
 * subscription as `credential`.
 */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'

export interface Grant {
  readonly credential: string
  /** `Shared`: the access of people to a subscription, through clients without a subscription of their own. */
  readonly type: 'OAuth2' | 'ApiKey' | 'PKCE' | 'Federated' | 'Shared'
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
  /** Thumbprint of the client certificate that the credential is bound to; missing if it is not bound. */
  readonly certificateThumbprint?: string
  /** Later grants of the same credential carry a higher number; an older one never replaces a newer. */
  readonly version: number
  /** Revision of the document of the subscription. */
  readonly subscriptionRevision: number
}

/** The name by which a thread looks up a credential. */
export type CredentialName =
  | { readonly kind: 'client'; readonly clientId: string }
  /** The access of people to a subscription, through shared clients. */
  | { readonly kind: 'subscription'; readonly subscription: string }
  /** Keyed hash of an API key, see `boundary/plan/credential-format.ts`. */
  | { readonly kind: 'key'; readonly hash: string }
  /** A client of a federated issuer at one API, since it has a subscription per API. */
  | {
      readonly kind: 'federated'
      readonly tenant: string
      readonly issuer: string
      readonly clientId: string
      readonly api: string
    }

/** Returns the grant of a shared client before its person is known: it opens nothing. */
export function toSharedClientGrant(tenant: string, name: string): Grant {
  return {
    credential: '',
    type: 'Shared',
    valid: true,
    active: true,
    expiresAtMs: 0,
    tenant,
    subscription: '',
    consumer: '',
    consumerName: name,
    consumerKind: 'application',
    api: PLATFORM_API,
    apiProductId: '',
    scopes: [],
    variant: '',
    version: 0,
    subscriptionRevision: 0,
  }
}

/** Returns whether the person decides the subscription: the grant is that of a shared client. */
export function isSharedClient({ type, subscription }: Pick<Grant, 'type' | 'subscription'>): boolean {
  return type === 'Shared' && subscription === ''
}
