/** Composes the commands on resources, in the order of their dependencies. */

import { activeRuleset } from '../control/programmes/tenant-policy.ts'
import { createAdrs } from '../control/programmes/adrs.ts'
import { createApiPolicies } from '../control/publishing/api-policy.ts'
import { createApiRemoval } from '../control/publishing/api-removal.ts'
import { createApis } from '../control/publishing/apis.ts'
import { createApprovals } from '../control/subscriptions/approvals.ts'
import { createAudit } from '../control/command/audit-log.ts'
import type { AskNodes } from '../control/publishing/activate-revision.ts'
import type { BackendRule } from '../control/publishing/backend-address.ts'
import { createCapacity } from '../control/subscriptions/capacity.ts'
import { createApiComplianceReader } from '../control/programmes/api-compliance.ts'
import type { Compliance } from '../control/programmes/compliance.ts'
import { createConsumerNames } from '../control/access/consumer-names.ts'
import { createConsumers } from '../control/access/consumers.ts'
import { createKnownConsumers } from '../control/access/known-consumers.ts'
import type { Secrets } from '../control/access/credential-document.ts'
import { createCredentialExplanations } from '../control/access/credential-explanations.ts'
import { createCredentials } from '../control/access/credentials.ts'
import type { GatewayPort } from '../boundary/plan/gateway-port.ts'
import { createDeliveries } from '../control/webhooks/deliveries.ts'
import { createEventSubscriptions } from '../control/webhooks/event-subscriptions.ts'
import { createDeclarationRemoval } from '../control/publishing/declaration-removal.ts'
import { createDeclaredPlans } from '../control/publishing/declared-plans.ts'
import type { DocumentReader } from '../control/publishing/document-reader.ts'
import { createMutes } from '../control/mutes/mutes.ts'
import { createLatestPlans } from '../control/publishing/latest-plans.ts'
import type { JudgeToken } from '../boundary/plan/judged-token.ts'
import type { LimitBook } from '../boundary/plan/limit-book.ts'
import type { LastUses } from '../control/access/last-uses.ts'
import { createPortals } from '../control/access/portals.ts'
import { createSearch } from '../control/programmes/search.ts'
import { createPrinciples } from '../control/programmes/principles.ts'
import { createProducts } from '../control/publishing/products.ts'
import { createProxies } from '../control/publishing/proxies.ts'
import { createRetirement } from '../control/publishing/retirement.ts'
import { createServedDocument } from '../control/publishing/served-document.ts'
import { createServiceLevels } from '../control/service-levels/service-levels.ts'
import type { OnCanaryWithheld } from '../control/publishing/withheld-canary.ts'
import { createSpecifications } from '../control/publishing/specifications.ts'
import { createConsumerView } from '../control/subscriptions/consumer-view.ts'
import { createSubscriptions } from '../control/subscriptions/subscriptions.ts'
import { createTokenScopes } from '../control/access/token-scopes.ts'
import { createTenants } from '../control/access/tenants.ts'
import type { KeyedMutex } from '../control/command/keyed-mutex.ts'
import type { ProbeBackend } from '../control/publishing/backend-warnings.ts'
import { platformOperations } from '../interfaces/platform/operations.ts'
import { openProgrammes } from './open-programmes.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'
// Declares what the audit log shows of the documents that only `recover` writes.
import '../storage/recovery/loss.ts'
import type { Registry } from '../storage/store/registry.ts'
import type { ServiceLevelStore } from '../storage/store/service-level-store.ts'

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
