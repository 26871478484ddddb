/**
 * The address rule for backends of tenants: on the public internet, and not an address of this service.
 *
 * Applied twice: when a backend is staged (`backend-rule.ts`), and to the resolved addresses of every connection
 * (`gateway/backend/backend-connect.ts`). Unlike for webhooks, scheme and port are not restricted.
 */

import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Clock } from '../runtime/clock.ts'
import { isPublicAddress, toReachedAddress } from './address-guard.ts'
import { createAddressesOf } from './addresses-of.ts'
import type { Resolve } from './guarded-lookup.ts'

/** Addresses of this service. Plain data, so that it can be posted to a thread. */
export interface OwnAddresses {
  /** Public addresses of the gateway, the platform API and the risk stream. */
  readonly urls: readonly string[]
  /** Ports that this process listens on. */
  readonly ports: readonly number[]
}

export interface Endpoint {
  readonly hostname: string
  readonly port: number
}

/** `own`: the backend leads back to this service. `private`: it has an address that is not public. */
export type BackendFault = 'own' | 'private'

/** Null if a tenant may reach `endpoint`, which resolves to `addresses`. */
export type BackendGuard = (endpoint: Endpoint, addresses: readonly string[]) => Promise<BackendFault | null>

export interface BackendGuardOptions {
  readonly own: OwnAddresses
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  readonly resolve: Resolve
  /** Addresses of the machine; default: those of its network interfaces. */
  readonly localAddresses?: () => readonly string[]
}

/** How long the resolved addresses of the service's public names are cached. */
const CACHE_MS = 30_000

export function createBackendGuard(options: BackendGuardOptions): BackendGuard {
  const { own, clock, localAddresses = systemAddresses } = options
  const addressesOf = createAddressesOf(options)
  const endpoints = own.urls.map(endpointOf)
  const cache = new Map<string, { readonly addresses: Promise<readonly string[]>; readonly untilMs: number }>()

  /** Resolves a public name of the service; returns none if this machine cannot resolve it. */
  function resolveOwn(hostname: string): Promise<readonly string[]> {
    if (isIP(hostname) !== 0) return Promise.resolve([toReachedAddress(hostname)])
    const cached = cache.get(hostname)
    if (cached !== undefined && cached.untilMs > clock.nowMs()) return cached.addresses
    const addresses = addressesOf(hostname).then((found) => found.map(toReachedAddress))
    cache.set(hostname, { addresses, untilMs: clock.nowMs() + CACHE_MS })
    return addresses
  }

  async function isOwn({ hostname, port }: Endpoint, reached: readonly string[]): Promise<boolean> {
    const samePort = endpoints.filter((each) => each.port === port)
    if (samePort.some((each) => each.hostname === hostname)) return true
    if (own.ports.includes(port)) {
      const local = localAddresses().map(toReachedAddress)
      if (reached.some((address) => isLocal(address) || local.includes(address))) return true
    }
    for (const each of samePort) {
      const addresses = await resolveOwn(each.hostname)
      if (reached.some((address) => addresses.includes(address))) return true
    }
    return false
  }

  return async (endpoint, addresses) => {
    if (await isOwn(endpoint, addresses.map(toReachedAddress))) return 'own'
    return addresses.every(isPublicAddress) ? null : 'private'
  }
}

/** Host and port of a URL, comparable: lower case, no trailing dot, no brackets, the port filled in. */
export function endpointOf(url: string): Endpoint {
  const { hostname, port, protocol } = new URL(url)
  return {
    hostname: hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''),
    port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  }
}

function isLocal(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address === '0.0.0.0' || address === '::'
}

function systemAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))
}
