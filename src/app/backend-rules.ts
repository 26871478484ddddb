/** Composes the rule for addresses of backends, its guard and their log lines. */

import type { Addresses } from './settings/addresses.ts'
import type { BackendRule } from '../control/publishing/backend-address.ts'
import type { Config } from './config.ts'
import { createBackendConnect, type BackendConnect } from '../gateway/backend/backend-connect.ts'
import { createBackendGuard, type OwnAddresses } from '../foundation/outbound/backend-guard.ts'
import { createBackendRule } from '../foundation/outbound/backend-rule.ts'
import { systemResolve } from '../foundation/outbound/guarded-lookup.ts'
import { targetsOf } from '../boundary/plan/backend-targets.ts'
import type { BackendPlan, RevisionPlan } from '../boundary/plan/route-plan.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'

export interface Backends {
  readonly own: OwnAddresses
  readonly rule: BackendRule
  readonly connect: BackendConnect
  /** Registers a revision that serves from startup, for `warn`. */
  serves(plan: Pick<RevisionPlan, 'tenant' | 'api' | 'backend'>): void
  /** Logs each registered backend that its tenant could not set today. Runs after startup, one host name at a time. */
  warn(): Promise<void>
}

export interface BackendsOptions {
  readonly config: Pick<Config, 'adminTenant' | 'allowPrivateAddresses'>
  readonly addresses: Addresses
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly count: CountEvent
}

export function createBackends({ config, addresses, clock, log, count }: BackendsOptions): Backends {
  const { gatewayPort, platformPort, riskPort, metricsPort, redirectPort, gatewayUrl, baseUrl, riskUrl } = addresses
  const own: OwnAddresses = {
    urls: [...new Set([gatewayUrl, baseUrl, riskUrl])],
    ports: [gatewayPort, platformPort, riskPort, metricsPort, redirectPort].filter((port) => port !== null),
  }
  const resolve = systemResolve
  const serving: { tenant: string; api: string; backend: BackendPlan }[] = []
  const guard = createBackendGuard({ own, clock, resolve })
  const rule = createBackendRule({
    operator: config.adminTenant,
    allowPrivate: config.allowPrivateAddresses.includes('backends'),
    guard,
    clock,
    resolve,
    onOwnLoop: (url) => log.warn({ url }, 'backend of an API leads back to this service; its calls would loop'),
  })
  return {
    own,
    rule,
    connect: createBackendConnect({ guard, resolve, count }),
    serves({ tenant, api, backend }) {
      if (backend === null || rule.mayBePrivate(tenant)) return
      for (const { plan } of targetsOf(backend)) serving.push({ tenant, api, backend: plan })
    },
    async warn() {
      for (const { tenant, api, backend } of serving.splice(0)) {
        const refused = await rule.refuse(tenant, backend.origin)
        if (refused === null) continue
        const effect = backend.mayBePrivate
          ? 'it serves until the next staging, because it was activated before the check existed'
          : 'its calls are answered 502'
        log.warn({ tenant, api, origin: backend.origin }, `the backend of an API is at a refused address; ${effect}`)
      }
    },
  }
}
