/**
 * How the credentials of a subscription can be used, without secrets.
 *
 * Credentials that are revoked, expired or replaced by a rotation do not count.
 */

import type { CredentialBody, CredentialType, FederatedClient } from '../access/credential-document.ts'

export interface ClientView {
  /** The types of its credentials. */
  readonly securityTypes: readonly CredentialType[]
  /** Null: no credential is of the type `Federated`. */
  readonly federated: FederatedClient | null
  /** The client certificates that these credentials are bound to, each once; null among them: some are bound to none. */
  readonly certificateThumbprints: readonly (string | null)[]
}

export function toClientView(credentials: readonly CredentialBody[], nowMs: number): ClientView {
  const current = credentials.filter(
    ({ state, expiresAtMs, isReplaced }) => state === 'Active' && expiresAtMs > nowMs && isReplaced !== true,
  )
  const federated = current.find(({ type }) => type === 'Federated')
  return {
    securityTypes: [...new Set(current.map(({ type }) => type))].toSorted(),
    federated: federated === undefined ? null : { issuer: federated.issuer ?? '', clientId: federated.clientId },
    certificateThumbprints: [
      ...new Set(current.map(({ certificateThumbprint }) => certificateThumbprint ?? null)),
    ].toSorted(),
  }
}
