/** Addresses of the service: the ports that it claimed, and the public addresses in tokens and links. */

import type { Config } from '../config.ts'
import { checkPort } from '../runtime/check-port.ts'

export interface Addresses {
  readonly gatewayPort: number
  readonly platformPort: number
  /** Null: only the platform port serves the risk paths. */
  readonly riskPort: number | null
  /** Null: the platform port serves `/metrics`. */
  readonly metricsPort: number | null
  /** Null: HTTP is not redirected to HTTPS. */
  readonly redirectPort: number | null
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly riskUrl: string
}

/** Throws `StartRefused` if a port is in use. */
export async function claimAddresses(config: Config): Promise<Addresses> {
  const { host, tls } = config
  const isSecure = tls !== null
  const gatewayPort = await checkPort('GATEWAY_PORT', host, config.gatewayPort)
  const platformPort = await checkPort('PLATFORM_PORT', host, config.platformPort)
  const riskPort = config.riskPort === null ? null : await checkPort('RISK_PORT', host, config.riskPort)
  const metricsPort = config.metricsPort === null ? null : await checkPort('METRICS_PORT', host, config.metricsPort)
  const redirectPort =
    config.httpRedirectPort === null ? null : await checkPort('HTTP_REDIRECT_PORT', host, config.httpRedirectPort)
  const baseUrl = config.baseUrl ?? urlOf(host, platformPort, isSecure)
  return {
    gatewayPort,
    platformPort,
    riskPort,
    metricsPort,
    redirectPort,
    gatewayUrl: config.gatewayUrl ?? urlOf(host, gatewayPort, isSecure),
    baseUrl,
    riskUrl: config.riskUrl ?? (riskPort === null ? baseUrl : urlOf(host, riskPort, isSecure)),
  }
}

/** The address of a port as a URL. */
export function urlOf(host: string, port: number, isSecure: boolean): string {
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
