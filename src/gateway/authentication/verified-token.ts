/** Claims of a verified token, in one form for tokens of this gateway and of federated issuers. */

export interface VerifiedToken {
  /** API that the token is valid for. */
  readonly api: string
  readonly scopes: readonly string[]
  /** The consumer itself, or a person; `''` if the token names neither. */
  readonly subject: string
  /** Agent that acts for the subject (RFC 8693, 4.1); `''` if none. */
  readonly actor: string
  readonly startsMs: number
  readonly endsMs: number
  /** `''` for a token of a federated issuer, which this gateway cannot revoke. */
  readonly jti: string
  /** The latest revocation of the person when the token was issued; undefined if the token names none. */
  readonly revocation: string | undefined
  /** Thumbprint of the client certificate that the token is bound to (`cnf`); `''` if it is not bound. */
  readonly certificate: string
  /** Federated provider whose key verified the token; null for a token of this gateway. */
  readonly provider: { readonly isCurrent: boolean } | null
}
