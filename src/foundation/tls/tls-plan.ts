/** The certificates of this service, as its servers present them. */

export interface CertificatePlan {
  /** Host names in lower case; `*.example.com` stands for one label. */
  readonly names: readonly string[]
  /** The certificate and those of its issuers, in PEM. */
  readonly cert: string
  /** In PEM. */
  readonly key: string
}

export interface TlsPlan {
  /** For clients that name no host, or one without a certificate. Null: such clients are refused. */
  readonly fallback: CertificatePlan | null
  readonly others: readonly CertificatePlan[]
  /** Authorities whose clients may present a certificate, in PEM. Null: clients are not asked for one. */
  readonly clientCa: string | null
  /** 48 bytes that encrypt session tickets, so that every thread resumes the sessions of all others. */
  readonly ticketKeys: Uint8Array
}
