/**
 * Chooses the certificate for a connection by the host that the client names (SNI).
 *
 * A certificate is parsed when the first client asks for it. Certificates for an exact name come before wildcards. Sessions cannot be
 * resumed after a change: the ticket keys change with it, so that a client certificate is checked again.
 */

import { constants } from 'node:crypto'
import { createSecureContext, type SecureContext, type SecureContextOptions, type TlsOptions } from 'node:tls'
import type { CertificatePlan, TlsPlan } from './tls-plan.ts'

/** Forward secrecy and authenticated encryption only, as HTTP/2 requires (RFC 9113, 9.2.2). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')
export const HANDSHAKE_WITHIN_MS = 10_000
/** Sessions of all contexts belong together; OpenSSL refuses to resume one without it if clients have certificates. */
const SESSION_CONTEXT = 'tollgate'
const LABEL = /^[^.]+\./

type ServerNameCallback = NonNullable<TlsOptions['SNICallback']>

export class SecureContexts {
  readonly #plan: TlsPlan
  readonly #byName = new Map<string, CertificatePlan>()
  readonly #contexts = new Map<CertificatePlan, SecureContext>()

  constructor(plan: TlsPlan) {
    this.#plan = plan
    const certificates = plan.fallback === null ? plan.others : [...plan.others, plan.fallback]
    for (const certificate of certificates) {
      for (const name of certificate.names) if (!this.#byName.has(name)) this.#byName.set(name, certificate)
    }
  }

  /** Options of the context for clients that name no host. */
  get fallback(): SecureContextOptions {
    return this.#optionsOf(this.#plan.fallback)
  }

  /** Returns null if there is no certificate for the host, nor one for all others. */
  of(host: string): SecureContext | null {
    const certificate = this.#find(host) ?? this.#plan.fallback
    return certificate === null ? null : this.#contextOf(certificate)
  }

  /** Whether a certificate names the host. */
  names(host: string): boolean {
    return this.#find(host) !== undefined
  }

  #find(host: string): CertificatePlan | undefined {
    const name = host.toLowerCase().replace(/\.$/, '')
    return this.#byName.get(name) ?? this.#byName.get(name.replace(LABEL, '*.'))
  }

  #contextOf(certificate: CertificatePlan): SecureContext {
    const known = this.#contexts.get(certificate)
    if (known !== undefined) return known
    const context = createSecureContext(this.#optionsOf(certificate))
    this.#contexts.set(certificate, context)
    return context
  }

  #optionsOf(certificate: CertificatePlan | null): SecureContextOptions {
    const { clientCa, ticketKeys } = this.#plan
    return {
      ...(certificate !== null && { cert: certificate.cert, key: certificate.key }),
      ...(clientCa !== null && { ca: clientCa }),
      ticketKeys: Buffer.from(ticketKeys),
      ciphers: CIPHERS,
      honorCipherOrder: true,
      minVersion: 'TLSv1.2',
      // A client can make a server spend much more on a renegotiation than it spends itself.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      sessionIdContext: SESSION_CONTEXT,
    }
  }
}

/** The contexts of a server, which can be replaced while it serves. */
export interface ServedContexts {
  contexts: SecureContexts
}

/**
 * Options of a server over TLS. A client certificate is asked for if there are authorities; its check is left to the request. The
 * server must destroy the connection of each failed handshake.
 */
export function tlsOptions(
  served: ServedContexts,
  asksForCertificate: boolean,
  protocols: string[],
  handshakeWithinMs = HANDSHAKE_WITHIN_MS,
): TlsOptions {
  const SNICallback: ServerNameCallback = (host, done) => {
    try {
      const context = served.contexts.of(host)
      if (context === null) done(new Error('there is no certificate for this host'))
      else done(null, context)
    } catch (cause) {
      done(cause as Error)
    }
  }
  return {
    ...served.contexts.fallback,
    SNICallback,
    ALPNProtocols: protocols,
    handshakeTimeout: handshakeWithinMs,
    requestCert: asksForCertificate,
    rejectUnauthorized: false,
  }
}
