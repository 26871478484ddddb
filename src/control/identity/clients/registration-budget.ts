/**
 * Bounds the registrations of clients by strangers: per network and per tenant, within an hour, on all nodes together.
 *
 * A network cannot fill a tenant before the oldest of its registrations give way, and needs others to use up the hour of
 * the tenant. A refused registration counts for neither, so that the store never holds more than the registrations of one hour.
 */

import { HOUR_MS } from '../../../foundation/domain/calendar.ts'
import type { AttemptLimit, AttemptStore } from '../../../storage/store/attempts.ts'
import { networkOf } from '../network-of.ts'

export interface RegistrationBudget {
  /** Returns the seconds until the address may register a client with the tenant; 0: it may now, and is counted. */
  take(tenant: string, address: string): Promise<number>
}

export interface RegistrationBudgetOptions {
  readonly attempts: AttemptStore
  readonly keyedHash: (text: string) => string
}

export const PER_NETWORK_MAX = 20
export const PER_TENANT_MAX = 100
const HOUR = { windowMs: HOUR_MS, isSliding: false }
const PER_NETWORK: AttemptLimit = { ...HOUR, max: PER_NETWORK_MAX }
const PER_TENANT: AttemptLimit = { ...HOUR, max: PER_TENANT_MAX }

export function createRegistrationBudget({ attempts, keyedHash }: RegistrationBudgetOptions): RegistrationBudget {
  return {
    async take(tenant, address) {
      const network = keyedHash(`registration network ${networkOf(address)}`)
      const ofNetworkMs = await attempts.take(network, PER_NETWORK)
      if (ofNetworkMs > 0) return Math.ceil(ofNetworkMs / 1_000)
      const ofTenantMs = await attempts.take(keyedHash(`registration tenant ${tenant}`), PER_TENANT)
      if (ofTenantMs > 0) await attempts.giveBack(network, PER_NETWORK)
      return Math.ceil(ofTenantMs / 1_000)
    },
  }
}
