/**
 * Proxies: the deployment of an API, revision by revision.
 *
 * A new revision is staged while the active one serves. Activation compiles it on every gateway thread, commits it to the
 * registry, swaps it in on every thread, and then responds, so the next call is served by it. If the commit fails, no thread
 * swaps. If the process dies between commit and swap, the next start serves the committed revision.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Registry, Write } from '../../storage/store/registry.ts'
import { changeEntry, type AskNodes } from './activate-revision.ts'
import { API_KIND, type ApiBody } from './apis.ts'
import type { BackendRule } from './backend-address.ts'
import { activate, discardRevision, type CanaryInput, type ConsumersOf } from './canary.ts'
import { backendWarnings, type ProbeBackend } from './backend-warnings.ts'
import { find, toTime } from '../command/commands.ts'
import type { StageInput } from './deployment.ts'
import type { DocumentReader } from './document-reader.ts'
import { createFollowApi, createRetryApi, startApis } from './follow-api.ts'
import { createServedPlans, type ServedPlans } from './served-plans.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import { changeLabels } from '../command/label-change.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listAll, listPage, type Page, type PageQuery } from '../command/page.ts'
import { createPreparedRevisions } from './prepared-revisions.ts'
import {
  PROXY_KIND,
  STAGING_KEY,
  activeDeployment,
  proxyWrite,
  stagedDeployment,
  type Deployment,
  type ProxyBody,
} from './proxy-document.ts'
import { showProxy, type Proxy } from './proxy-view.ts'
import { createServingPlans, type ActivePlan, type ServingPlans } from './serving-plan.ts'
import type { ContractOptions, RulesetOf } from './published-contract.ts'
import { isDeclared, type Specifications } from './specifications.ts'
import { stageRevision } from './stage-revision.ts'
import type { StoredPlan } from './stored-plans.ts'
import { withholdingCanary, type OnCanaryWithheld } from './withheld-canary.ts'

export type { Proxy }

export interface Revision {
  readonly revision: number
  readonly fate: string
  readonly time: string
  readonly version: string
  readonly specification: string
}

export interface ProxyQuery extends PageQuery {
  readonly api?: string
  readonly hasStaging?: boolean
}

export interface Proxies {
  stage(author: Author, input: StageInput): Promise<Proxy>
  /** Activates the staging revision: for all callers, or as a canary for those of `input`. */
  activate(author: Author, id: string, input?: CanaryInput): Promise<Proxy>
  discard(author: Author, id: string): Promise<Proxy>
  /** Changes the labels. */
  update(author: Author, id: string, change: Labelled): Promise<Proxy>
  get(tenant: string, id: string): Promise<Proxy>
  list(tenant: string, query: ProxyQuery): Promise<Page<Proxy>>
  revisions(tenant: string, id: string): Promise<Page<Revision>>
  /**
   * Commits a change of the catalogue entry with `save`; every gateway thread serves it when this resolves. The caller holds the
   * mutex of the API.
   */
  change(api: string, entry: ApiBody, save: (writes: readonly Write[]) => Promise<void>): Promise<void>
  /** Yields the plans of all active revisions, for startup; each is served when the next one is asked for. */
  activePlans(): AsyncIterable<ActivePlan>
  /**
   * Serves what the registry has for an API that another node has changed. Resolves when every gateway thread does, with the plan if it
   * was not served before. Throws `RevisionWithheld` if the gateway cannot serve it and refuses the calls of the API.
   */
  follow(api: string): Promise<ActivePlan | null>
  /** Tries again to serve an API of which something is withheld. Throws if that fails, and changes nothing then. */
  retry(api: string): Promise<ActivePlan | null>
  /** Compiles what another node is about to activate. Returns null, or why this node cannot. Never rejects. */
  prepare(request: string): Promise<string | null>
  /** Yields a function for each stored plan, which serves its API as `follow` does. For startup. */
  startApis(stored: AsyncIterable<StoredPlan>): AsyncIterable<() => Promise<ActivePlan | null>>
}

export interface ProxiesOptions extends Pick<ContractOptions, 'allowsBreaking'> {
  readonly registry: Registry
  readonly documents: DocumentReader
  readonly rulesetOf: RulesetOf
  readonly gateway: GatewayPort
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly createId: CreateId
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly backendRule: BackendRule
  /** Asks the other nodes to prepare a revision; missing on a single node. */
  readonly askNodes?: AskNodes
  readonly consumersOf: ConsumersOf
  /** A revision could not be prepared for another node, for a reason that is not in the document. */
  readonly onUnprepared?: (cause: unknown) => void
  readonly onCanaryWithheld?: OnCanaryWithheld
  /** If missing, backends are not probed. */
  readonly probeBackend?: ProbeBackend
}

const UNITS_UNCOUNTED =
  'The API has no OpenSLA declaration, so that `x-tollgate-units` counts nothing. Publish one by POST /v1/openslaspecs.'

/** Upper bound of the operations that a warning names. */
const OPERATIONS_SHOWN_MAX = 5

/** Proxies with many operations are large. */
const BATCH_MAX = 100

export function createProxies(options: ProxiesOptions): Proxies {
  const { registry, mutex, probeBackend = async () => null } = options
  const planOf = createServingPlans(options)
  const served = createServedPlans()
  const prepared = createPreparedRevisions({ ...options, onFailed: options.onUnprepared ?? (() => {}) })
  const activation = { ...options, served, prepared }
  const follow = createFollowApi(activation, planOf)
  const get = async (tenant: string, id: string): Promise<Proxy> =>
    showProxy(await find(registry, tenant, PROXY_KIND, id))

  /** Serialized with all other changes of the API. */
  async function runExclusive({ tenant }: Author, id: string, command: () => Promise<void>): Promise<Proxy> {
    const { api } = await get(tenant, id)
    return mutex.runExclusive([api], async () => {
      await command()
      return get(tenant, id)
    })
  }

  return {
    async stage(author, input) {
      const proxy = await mutex.runExclusive([input.api], async () =>
        get(author.tenant, await stageRevision(options, author, input)),
      )
      return withWarnings(registry, author, proxy, probeBackend)
    },
    async activate(author, id, input = {}) {
      const proxy = await runExclusive(author, id, () => activate(activation, planOf, author, id, input))
      return withWarnings(registry, author, proxy, probeBackend)
    },
    update: (author, id, change) =>
      runExclusive(author, id, async () => {
        const of = { kind: PROXY_KIND, id, action: 'proxy.update', write: proxyWrite }
        await changeLabels(registry, author, of, change)
      }),
    discard: (author, id) => runExclusive(author, id, () => discardRevision(activation, planOf, author, id)),
    change: (api, entry, save) => changeEntry(activation, planOf, api, entry, save),
    get,
    list: (tenant, query) =>
      listPage({
        registry,
        kind: PROXY_KIND,
        tenant,
        query,
        where: { api: query.api, [STAGING_KEY]: query.hasStaging?.toString() },
        show: showProxy,
      }),
    revisions: async (tenant, id) => ({
      items: showRevisions((await find(registry, tenant, PROXY_KIND, id)).body),
      next: null,
    }),
    activePlans: () => activePlans(options, planOf, served),
    follow,
    retry: createRetryApi(activation, planOf),
    prepare: prepared.prepare,
    startApis: (stored) => startApis(activation, follow, stored),
  }
}

async function* activePlans(
  { registry, onCanaryWithheld }: Pick<ProxiesOptions, 'registry' | 'onCanaryWithheld'>,
  planOf: ServingPlans,
  served: ServedPlans,
): AsyncIterable<ActivePlan> {
  for await (const proxy of listAll(registry, PROXY_KIND, { limit: BATCH_MAX })) {
    const deployment = activeDeployment(proxy.body)
    if (deployment === null) continue
    const { body: entry } = await find(registry, proxy.tenant, API_KIND, proxy.body.api)
    const source = { proxy, body: proxy.body, deployment, entry }
    const plan = await withholdingCanary(planOf, source, async (next) => next, onCanaryWithheld)
    yield plan
    served.note(plan)
  }
}

/** Adds warnings to the result of a command. Call it outside the mutex of the API: a probe may take a second. */
async function withWarnings(
  registry: Registry,
  { tenant }: Author,
  proxy: Proxy,
  probeBackend: ProbeBackend,
): Promise<Proxy> {
  const { body } = await find(registry, tenant, PROXY_KIND, proxy.id)
  const active = activeDeployment(body)
  const staged = stagedDeployment(body)
  const deployment = staged ?? active
  const warnings = await backendWarnings(tenant, deployment, active, probeBackend)
  const isUncounted = deployment?.countsUnits === true && !(await isDeclared(registry, proxy.api))
  return {
    ...proxy,
    warnings: [...warnings, ...publicWrites(deployment), ...(isUncounted ? [UNITS_UNCOUNTED] : [])],
  }
}

/** Security that is meant for the specimen server of a document arrives with it, unseen. */
function publicWrites(deployment: Deployment | null): readonly string[] {
  const ids = deployment?.publicWrites ?? []
  if (ids.length === 0) return []
  const shown = ids.slice(0, OPERATIONS_SHOWN_MAX).join(', ')
  const more = ids.length > OPERATIONS_SHOWN_MAX ? ` and ${ids.length - OPERATIONS_SHOWN_MAX} more` : ''
  return [
    `The document lets everybody call operations that write, without a credential (\`security: []\` or \`{}\`): ${shown}${more}.`,
  ]
}

function showRevisions({ actor, deployments }: ProxyBody): readonly Revision[] {
  return actor.context.revisions.map(({ revision, fate, atMs }) => ({
    revision,
    fate,
    time: toTime(atMs),
    version: deployments[String(revision)]?.version ?? '',
    specification: deployments[String(revision)]?.specification ?? '',
  }))
}
