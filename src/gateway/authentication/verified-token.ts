/** What a token says, once its signature has verified: the same words for tokens of ours and of federated issuers. */

export interface VerifiedToken {
  /** The API it is good for. */
  readonly api: string
  readonly scopes: readonly string[]
  /** Whom it speaks of: the consumer itself, or a person; `''` where it names nobody. */
  readonly subject: string
  /** The agent that acts for the subject (RFC 8693, 4.1); `''` when none. */
  readonly actor: string
  readonly startsMs: number
  readonly endsMs: number
  /** `''` for a token that is not ours to revoke. */
  readonly jti: string
  /** The federated provider whose key verified it; null for a token of ours. */
  readonly provider: { readonly isCurrent: boolean } | null
}
