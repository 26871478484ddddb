/**
 * Bounds the registrations of clients by strangers: per network and per tenant, within an hour.
 *
 * A network cannot fill a tenant before the oldest of its registrations give way, and needs others to use up the hour of
 * the tenant. The counts start anew each hour, so that they never hold more than the registrations of one hour.
 */

import type { Clock } from '../../runtime/clock.ts'
import { networkOf } from '../network-of.ts'

export interface RegistrationBudget {
  /** Returns the seconds until the address may register a client with the tenant; 0: it may now, and is counted. */
  take(tenant: string, address: string): number
}

export const PER_NETWORK_MAX = 20
export const PER_TENANT_MAX = 100
const WINDOW_MS = 3_600_000

export function createRegistrationBudget({ nowMs }: Pick<Clock, 'nowMs'>): RegistrationBudget {
  const byNetwork = new Map<string, number>()
  const byTenant = new Map<string, number>()
  let window = 0

  return {
    take(tenant, address) {
      const timeMs = nowMs()
      const current = Math.floor(timeMs / WINDOW_MS)
      if (current !== window) {
        window = current
        byNetwork.clear()
        byTenant.clear()
      }
      const network = networkOf(address)
      const [ofNetwork, ofTenant] = [byNetwork.get(network) ?? 0, byTenant.get(tenant) ?? 0]
      if (ofNetwork >= PER_NETWORK_MAX || ofTenant >= PER_TENANT_MAX) {
        return Math.ceil(((current + 1) * WINDOW_MS - timeMs) / 1_000)
      }
      byNetwork.set(network, ofNetwork + 1)
      byTenant.set(tenant, ofTenant + 1)
      return 0
    },
  }
}
