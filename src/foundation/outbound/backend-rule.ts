/**
 * Decides which addresses the backends of a tenant may have.
 *
 * The operator's tenant may use any address, because it runs the machine; a backend of it that leads back to this
 * service is only logged. The guard applies to other tenants unless the deployment allows private addresses. A name that
 * does not resolve passes here, because the guard checks it again at every connection.
 */

import { isIP } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import { createAddressesOf } from './addresses-of.ts'
import { endpointOf, type BackendFault, type BackendGuard } from './backend-guard.ts'
import type { Resolve } from './guarded-lookup.ts'

export interface BackendRuleOptions {
  readonly operator: string
  /** Whether `ALLOW_PRIVATE_ADDRESSES` includes `backends`. */
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
    /** Returns whether backends of `tenant` may have any address. */
    mayBePrivate,
    /** Returns why `tenant` may not use a backend at `url`, or null. */
    async refuse(tenant: string, url: string): Promise<string | null> {
      if (tenant === operator) {
        // Only for the log, so the command does not wait.
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
