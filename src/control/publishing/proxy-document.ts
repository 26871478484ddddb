/** The stored document of a proxy: the state machine of its revisions, and the deployment of each. */

import type { PersistedActor } from '../command/persisted-machine.ts'
import type { ProxyContext } from './proxy-machine.ts'
import type { CanaryRule } from '../../boundary/plan/canary.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import { documentKind, type Write } from '../../storage/store/registry.ts'
import type { BackendPlan, TargetPlan } from '../../boundary/plan/route-plan.ts'
import type { TransformPlan } from '../../boundary/plan/transform-plan.ts'

export interface ProxyBody extends Labelled {
  readonly api: string
  readonly actor: PersistedActor & { readonly context: ProxyContext }
  /** By revision number, for the retained revisions. */
  readonly deployments: Readonly<Record<string, Deployment>>
  readonly memberOfProductIds: readonly string[]
}

export const PROXY_KIND = documentKind<ProxyBody>('proxy', ['api', 'memberOfProductIds', 'state', 'labels'])

/** Key of all proxies: whether a staged revision waits for its activation, `true` or `false`. */
export const STAGING_KEY = 'hasStaging'
/** Key of proxies with a canary: `true`. */
export const CANARY_KEY = 'hasCanary'

/** Has the URL of the first target, so that processes of an earlier version can serve it. */
export interface DeployedBackend extends Omit<BackendPlan, 'mayBePrivate' | 'targets'> {
  readonly url: string
  readonly targets?: readonly (TargetPlan & { readonly url: string })[]
}

export interface Deployment {
  /** Id of the OpenAPI document. */
  readonly specification: string
  readonly version: string
  readonly title: string
  readonly major: number
  readonly backend: DeployedBackend
  /** Set if the revision was activated before the backends of tenants were restricted to public addresses; it is exempt. */
  readonly isBackendExempt?: true
  /** Where the backend came from; missing in revisions of earlier versions. */
  readonly backendSource?: 'request' | 'activeRevision' | 'document'
  readonly transform?: TransformPlan
  readonly declaredScopes: readonly string[]
  readonly allowedScopes: readonly string[]
  /** Set if the document has `x-tollgate-units`, which need a declaration. */
  readonly countsUnits?: true
  /** Ids of the operations that write and need no credential; missing if there is none. */
  readonly publicWrites?: readonly string[]
  readonly operationIds: readonly string[]
}

export function activeDeployment({ actor, deployments }: ProxyBody): Deployment | null {
  const { activeRevision } = actor.context
  return activeRevision === null ? null : (deployments[String(activeRevision)] ?? null)
}

export function stagedDeployment({ actor, deployments }: ProxyBody): Deployment | null {
  const { stagingRevision } = actor.context
  return stagingRevision === null ? null : (deployments[String(stagingRevision)] ?? null)
}

export interface DeployedCanary {
  readonly revision: number
  readonly rule: CanaryRule
  readonly deployment: Deployment
}

/** Returns the revision that serves some of the callers; null if there is none. */
export function canaryOf(body: ProxyBody): DeployedCanary | null {
  const { canary = null, stagingRevision } = body.actor.context
  const deployment = stagedDeployment(body)
  if (canary === null || stagingRevision === null || deployment === null) return null
  return { revision: stagingRevision, rule: canary.rule, deployment }
}

/** Returns the active deployment, otherwise the staged one; null if the only revision was discarded. */
export function servingOrStaged(body: ProxyBody): Deployment | null {
  return activeDeployment(body) ?? stagedDeployment(body)
}

/** Returns the write of a proxy, which is found by its API and can be listed by whether a revision is staged or is a canary. */
export function proxyWrite(id: string, tenant: string, expected: number, body: ProxyBody): Write {
  const staging = { [STAGING_KEY]: String(body.actor.context.stagingRevision !== null) }
  const keys = { api: body.api, ...staging, ...(canaryOf(body) !== null && { [CANARY_KEY]: 'true' }) }
  return { kind: PROXY_KIND, id, tenant, expected, body, keys, unique: ['api'] }
}
