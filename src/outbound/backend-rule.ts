/**
 * Decides at which addresses the backends of a tenant may be.
 *
 * The operator's tenant may use any address, since it runs the machine; a backend of it that leads back to this
 * service is logged. Other tenants are held to the guard unless the deployment allows private addresses. A name that
 * does not resolve now passes here, because the guard judges it again at every connection.
 */

import { isIP } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import { createAddressesOf } from './addresses-of.ts'
import { endpointOf, type BackendFault, type BackendGuard } from './backend-guard.ts'
import type { Resolve } from './guarded-lookup.ts'

export interface BackendRuleOptions {
  readonly operator: string
  /** `ALLOW_PRIVATE_ADDRESSES` names `backends`. */
  readonly allowPrivate: boolean
  readonly guard: BackendGuard
  readonly clock: Pick<Clock, 'after'>
  readonly resolve: Resolve
  /** Called for a backend of the operator that leads back to this service. */
  readonly onOwnLoop: (url: string) => void
}

export function createBackendRule(options: BackendRuleOptions) {
  const { operator, allowPrivate, guard, onOwnLoop } = options
  const addressesOf = createAddressesOf(options)
  const mayBePrivate = (tenant: string): boolean => allowPrivate || tenant === operator

  async function faultOf(url: string): Promise<BackendFault | null> {
    const endpoint = endpointOf(url)
    const { hostname } = endpoint
    return guard(endpoint, isIP(hostname) === 0 ? await addressesOf(hostname) : [hostname])
  }

  return {
    /** Returns whether backends of `tenant` may be at any address. */
    mayBePrivate,
    /** Returns why a backend of `tenant` may not be at `url`, or null. */
    async refuse(tenant: string, url: string): Promise<string | null> {
      if (tenant === operator) {
        // Only for the log: the command does not wait for it.
        void faultOf(url).then((fault) => fault === 'own' && onOwnLoop(url))
        return null
      }
      const fault = allowPrivate ? null : await faultOf(url)
      return fault === null ? null : DETAILS[fault]
    },
  }
}

const DETAILS: Readonly<Record<BackendFault, string>> = {
  own: 'The backend leads back to this service. Give the address of the backend itself.',
  private: 'The backend has a private, loopback or link-local address. Give a public address.',
}
