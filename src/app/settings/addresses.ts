/** Addresses of the service: the ports that it claimed, and the public addresses in tokens and links. */

import type { Config } from '../config.ts'
import { checkPort, type HeldPorts } from '../../foundation/runtime/check-port.ts'

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

/** Holds the ports that the settings leave to the system. Throws `StartRefused` if a port is in use. */
export async function claimAddresses(config: Config, heldPorts: Pick<HeldPorts, 'hold'>): Promise<Addresses> {
  const { host, tls } = config
  const isSecure = tls !== null
  const claim = (name: string, port: number): Promise<number> =>
    port === 0 ? heldPorts.hold(name, host) : checkPort(name, host, port)
  const gatewayPort = await claim('GATEWAY_PORT', config.gatewayPort)
  const platformPort = await claim('PLATFORM_PORT', config.platformPort)
  const riskPort = config.riskPort === null ? null : await claim('RISK_PORT', config.riskPort)
  const metricsPort = config.metricsPort === null ? null : await claim('METRICS_PORT', config.metricsPort)
  const redirectPort =
    config.httpRedirectPort === null ? null : await claim('HTTP_REDIRECT_PORT', config.httpRedirectPort)
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
