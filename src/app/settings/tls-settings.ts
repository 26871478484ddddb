/** Reads the settings of TLS. */

import { resolve } from 'node:path'
import type { TlsSettings } from '../../foundation/tls/certificate-files.ts'
import { path as pathOf, port, type Read } from '../../foundation/settings/setting-values.ts'

type Name = 'TLS_CERT_FILE' | 'TLS_KEY_FILE' | 'TLS_CERT_DIR' | 'TLS_CLIENT_CA_FILE' | 'HTTP_REDIRECT_PORT'

export interface TlsConfig {
  /** Null: clients connect without TLS. */
  readonly tls: TlsSettings | null
  /** Port that redirects HTTP to HTTPS; null: none. */
  readonly httpRedirectPort: number | null
}

export function readTls(setting: <T>(name: Name, fallback: T, read: Read<T>) => T, wrong: string[]): TlsConfig {
  const path = (name: Exclude<Name, 'HTTP_REDIRECT_PORT'>): string | null => {
    const value = setting<string | null>(name, null, pathOf)
    return value === null ? null : resolve(value)
  }
  const certFile = path('TLS_CERT_FILE')
  const keyFile = path('TLS_KEY_FILE')
  const folder = path('TLS_CERT_DIR')
  const clientCaFile = path('TLS_CLIENT_CA_FILE')
  const httpRedirectPort = setting<number | null>('HTTP_REDIRECT_PORT', null, port)
  const pair = certFile === null || keyFile === null ? null : { certFile, keyFile }
  if ((certFile === null) !== (keyFile === null)) wrong.push('TLS_CERT_FILE and TLS_KEY_FILE go together')
  else if (pair !== null || folder !== null) return { tls: { pair, folder, clientCaFile }, httpRedirectPort }
  else if (clientCaFile !== null || httpRedirectPort !== null) {
    const name = clientCaFile === null ? 'HTTP_REDIRECT_PORT' : 'TLS_CLIENT_CA_FILE'
    wrong.push(`${name} needs a certificate of this service: TLS_CERT_FILE or TLS_CERT_DIR`)
  }
  return { tls: null, httpRedirectPort: null }
}
