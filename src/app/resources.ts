/** Composes the commands on resources, in the order of their dependencies. */

import { activeRuleset } from '../programmes/tenant-policy.ts'
import { createAdrs } from '../programmes/adrs.ts'
import { createApiPolicies } from '../publishing/api-policy.ts'
import { createApiRemoval } from '../publishing/api-removal.ts'
import { createApis } from '../publishing/apis.ts'
import { createApprovals } from '../subscriptions/approvals.ts'
import { createAudit } from '../command/audit-log.ts'
import type { AskNodes } from '../publishing/activate-revision.ts'
import type { BackendRule } from '../publishing/backend-address.ts'
import { createCapacity } from '../subscriptions/capacity.ts'
import { createApiComplianceReader } from '../programmes/api-compliance.ts'
import type { Compliance } from '../programmes/compliance.ts'
import { createConsumerNames } from '../access/consumer-names.ts'
import { createConsumers } from '../access/consumers.ts'
import { createKnownConsumers } from '../access/known-consumers.ts'
import type { Secrets } from '../access/credential-document.ts'
import { createCredentialExplanations } from '../access/credential-explanations.ts'
import { createCredentials } from '../access/credentials.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import { createDeliveries } from '../webhooks/deliveries.ts'
import { createEventSubscriptions } from '../webhooks/event-subscriptions.ts'
import { createDeclarationRemoval } from '../publishing/declaration-removal.ts'
import { createDeclaredPlans } from '../publishing/declared-plans.ts'
import type { DocumentReader } from '../publishing/document-reader.ts'
import { createMutes } from '../mutes/mutes.ts'
import { createLatestPlans } from '../publishing/latest-plans.ts'
import type { JudgeToken } from '../plan/judged-token.ts'
import type { LimitBook } from '../plan/limit-book.ts'
import type { LastUses } from '../access/last-uses.ts'
import { createPortals } from '../access/portals.ts'
import { createSearch } from '../programmes/search.ts'
import { createPrinciples } from '../programmes/principles.ts'
import { createProducts } from '../publishing/products.ts'
import { createProxies } from '../publishing/proxies.ts'
import { createRetirement } from '../publishing/retirement.ts'
import { createServedDocument } from '../publishing/served-document.ts'
import { createServiceLevels } from '../service-level/service-levels.ts'
import type { OnCanaryWithheld } from '../publishing/withheld-canary.ts'
import { createSpecifications } from '../publishing/specifications.ts'
import { createConsumerView } from '../subscriptions/consumer-view.ts'
import { createSubscriptions } from '../subscriptions/subscriptions.ts'
import { createTokenScopes } from '../access/token-scopes.ts'
import { createTenants } from '../access/tenants.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { ProbeBackend } from '../publishing/backend-warnings.ts'
import { platformOperations } from '../platform/operations.ts'
import { openProgrammes } from './open-programmes.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
// Declares what the audit log shows of the documents that only `recover` writes.
import '../recovery/loss.ts'
import type { Registry } from '../store/registry.ts'
import type { ServiceLevelStore } from '../store/service-level-store.ts'

export interface ResourcesOptions extends Secrets {
  readonly registry: Registry
  readonly documents: DocumentReader
  readonly gateway: GatewayPort
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly limits: LimitBook
  readonly levels: ServiceLevelStore
  readonly compliance: Compliance
  readonly probeBackend?: ProbeBackend
  /** Returns why events may not be sent to a URL; null if they may. */
  readonly refuseTarget: (url: string) => Promise<string | null>
  readonly backendRule: BackendRule
  readonly judge: JudgeToken
  /** Asks the other nodes to prepare a revision; missing on a single node. */
  readonly askNodes?: AskNodes
  readonly onUnprepared?: (cause: unknown) => void
  readonly onCanaryWithheld?: OnCanaryWithheld
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
  readonly log: Log
  readonly createMutex: () => KeyedMutex
  readonly lastUses: Pick<LastUses, 'read' | 'remove'>
  /** Breaking changes are published. */
  readonly allowsBreaking?: boolean
}

export type Resources = ReturnType<typeof createResources>

export function createResources(options: ResourcesOptions) {
  const { registry, createId, levels: store, compliance } = options
  const operations = platformOperations()
  const rulesetOf = (tenant: string) => activeRuleset(registry, tenant)
  const specifications = createSpecifications({ ...options, platformOperations: operations })
  const proxies = createProxies({
    ...options,
    specifications,
    rulesetOf,
    consumersOf: createKnownConsumers({ registry }),
  })
  const retirement = createRetirement({ ...options, proxies })
  const credentials = createCredentials(options)
  const plans = createLatestPlans({ registry, specifications })
  const capacity = createCapacity({ ...options, plans })
  const apiPolicies = createApiPolicies({ ...options, proxies })
  const subscriptions = createSubscriptions({
    ...options,
    credentials,
    specifications,
    capacity,
    platformOperations: operations,
  })
  return {
    specifications,
    proxies,
    retirement,
    credentials,
    credentialExplanations: createCredentialExplanations({ ...options, scopesOf: createTokenScopes({ registry }) }),
    capacity,
    apiPolicies,
    subscriptions,
    consumerView: createConsumerView({ registry }),
    compliance,
    consumers: createConsumers(options),
    consumerNames: createConsumerNames(options),
    apis: createApis(options),
    servedDocument: createServedDocument(options),
    apiRemoval: createApiRemoval(options),
    declarationRemoval: createDeclarationRemoval(options),
    declaredPlans: createDeclaredPlans({ registry, platformOperations: operations }),
    apiCompliance: createApiComplianceReader(options),
    serviceLevels: createServiceLevels({ registry, plans, store }),
    products: createProducts(options),
    tenants: createTenants(options),
    portals: createPortals(options),
    search: createSearch({ registry }),
    eventSubscriptions: createEventSubscriptions(options),
    deliveries: createDeliveries(options),
    adrs: createAdrs({ registry, createId }),
    principles: createPrinciples({ registry, createId }),
    audit: createAudit({ registry }),
    mutes: createMutes(options),
    approvals: createApprovals({ ...options, credentials, capacity }),
    ...openProgrammes({ ...options, rulesetOf, apiPolicies, proxies, specifications, subscriptions }),
  }
}
