/**
 * Proxies: the deployment of an API, revision by revision.
 *
 * A new revision is staged beside the one that serves. Activation compiles it aside on every gateway
 * thread, commits it to the registry, swaps it on every thread, and only then answers: what the answer
 * says is true for the next call. If the commit fails nothing is swapped; if the process dies between
 * commit and swap, the start brings up what was committed.
 */

import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import { apiLifecycle } from './api-machine.ts'
import { proxy as machine, type ProxyContext, type ProxyEvent } from './proxy-machine.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Specification } from '../governance/specification.ts'
import type { Author, Document, Registry, Write } from '../store/registry.ts'
import { API_KIND, apiActor, apiWrite, type ApiBody } from './apis.ts'
import { commit, find, stateConflict, toTime } from '../command/commands.ts'
import { toDeployment, type StageInput } from './deployment.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import {
  PROXY_KIND,
  activeDeployment,
  proxyWrite,
  stagedDeployment,
  type Deployment,
  type ProxyBody,
} from './proxy-document.ts'
import { showProxy, type Proxy } from './proxy-view.ts'
import { checkContract } from './published-contract.ts'
import { createServingPlans, type ActivePlan } from './serving-plan.ts'
import type { Specifications } from './specifications.ts'
import { checkStaged, type BackendRule } from './backend-address.ts'
import { backendWarnings, type ProbeBackend } from './backend-warnings.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export type { Proxy }

export interface Revision {
  readonly revision: number
  readonly fate: string
  readonly time: string
  readonly version: string
  readonly specification: string
}

export interface Proxies {
  stage(author: Author, input: StageInput): Promise<Proxy>
  activate(author: Author, id: string): Promise<Proxy>
  discard(author: Author, id: string): Promise<Proxy>
  get(tenant: string, id: string): Promise<Proxy>
  list(tenant: string, query: PageQuery & { api?: string }): Promise<Page<Proxy>>
  revisions(tenant: string, id: string): Promise<Page<Revision>>
  /**
   * Commits a change of the catalogue entry and serves by it: compiled aside first, swapped on every thread
   * before it resolves. For those who have taken the API's turn.
   */
  change(api: string, entry: ApiBody, save: (writes: readonly Write[]) => Promise<void>): Promise<void>
  /** Plans of all active revisions, for startup. */
  activePlans(): AsyncIterable<ActivePlan>
}

export interface ProxiesOptions {
  readonly registry: Registry
  readonly gateway: GatewayPort
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly createId: CreateId
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly backendRule: BackendRule
  /** Without it no backend is tried. */
  readonly probeBackend?: ProbeBackend
}

const PAGE = 100

export function createProxies(options: ProxiesOptions): Proxies {
  const { registry, gateway, createId, clock, mutex, backendRule, probeBackend = async () => null } = options
  const planOf = createServingPlans(options)

  async function stage(author: Author, input: StageInput): Promise<Proxy> {
    const current = await registry.find(PROXY_KIND, 'api', input.api)
    const entry = await registry.get(API_KIND, input.api)
    if (isTaken(current, author) || isTaken(entry, author) || entry?.body.ownScopes !== undefined) {
      throw new Problem('name_taken', taken(input.api))
    }
    if (entry !== null) refuseRetired(entry.body)
    const before = current?.body ?? null
    const check = (next: Specification): Promise<Specification | null> =>
      checkContract(registry, author.tenant, before, next, clock.nowMs())
    const { deployment, writes } = await toDeployment({ author, input, current: before, createId, check, backendRule })
    const actor = tell(current?.body.actor ?? fresh(), 'revision.staged')
    const body: ProxyBody = {
      api: input.api,
      actor,
      deployments: kept(actor.context, {
        ...current?.body.deployments,
        [String(actor.context.stagingRevision)]: deployment,
      }),
      memberOfProductIds: current?.body.memberOfProductIds ?? [],
    }
    const id = current?.id ?? createId('prx')
    await commit(
      registry,
      author,
      'proxy.stage',
      [
        ...writes,
        proxyWrite(id, author.tenant, current?.revision ?? 0, body),
        ...(entry === null ? [newEntry(author, input.api, deployment)] : []),
      ],
      taken(input.api),
    )
    return get(author.tenant, id)
  }

  async function activate(author: Author, id: string): Promise<Proxy> {
    const current = await find(registry, author.tenant, PROXY_KIND, id)
    const actor = tell(current.body.actor, 'revision.activated')
    const body = { ...current.body, actor, deployments: kept(actor.context, current.body.deployments) }
    // Read before the declarations: a later change of a declaration changes the entry, and this commit is then
    // refused.
    const entry = await find(registry, author.tenant, API_KIND, body.api)
    const deployment = activeDeployment(body)
    if (deployment === null) throw new Error(`proxy ${id} has lost its deployment`)
    await checkStaged(backendRule, author.tenant, deployment.backend)
    const { version, title } = deployment
    const next: ApiBody = { ...activated(entry.body), version, title }
    const { plan, slas } = await planOf(current, body, deployment, next)
    const prepared = await gateway.prepare(plan, slas)
    try {
      await commit(registry, author, 'proxy.activate', [
        proxyWrite(id, author.tenant, current.revision, body),
        apiWrite(body.api, author.tenant, entry.revision, next),
      ])
    } catch (cause) {
      prepared.abort()
      throw cause
    }
    await prepared.swap()
    return get(author.tenant, id)
  }

  async function discard(author: Author, id: string): Promise<Proxy> {
    const current = await find(registry, author.tenant, PROXY_KIND, id)
    const actor = tell(current.body.actor, 'revision.discarded')
    const body = { ...current.body, actor, deployments: kept(actor.context, current.body.deployments) }
    await commit(registry, author, 'proxy.discard', [proxyWrite(id, author.tenant, current.revision, body)])
    return get(author.tenant, id)
  }

  async function change(api: string, entry: ApiBody, save: (writes: readonly Write[]) => Promise<void>): Promise<void> {
    const proxy = await registry.find(PROXY_KIND, 'api', api)
    const deployment = proxy === null ? null : activeDeployment(proxy.body)
    if (proxy === null || deployment === null) return save([])
    const { plan, slas } = await planOf(proxy, proxy.body, deployment, entry)
    const prepared = await gateway.prepare(plan, slas)
    try {
      // The proxy moves on with it: a revision that is activated from an older reading is refused.
      await save([proxyWrite(proxy.id, proxy.tenant, proxy.revision, proxy.body)])
    } catch (cause) {
      prepared.abort()
      throw cause
    }
    await prepared.swap()
  }

  function fresh(): ProxyBody['actor'] {
    return begin(machine, { hasRevisionZero: false, atMs: clock.nowMs() }) as ProxyBody['actor']
  }

  function tell(actor: PersistedActor, type: ProxyEvent['type']): ProxyBody['actor'] {
    const result = step(machine, actor, { type, atMs: clock.nowMs() })
    if ('next' in result) return result.next as ProxyBody['actor']
    if (type === 'revision.staged') throw stateConflict(result.refused)
    throw new Problem('no_staging_revision', 'The proxy has no staging revision. Stage one with POST /v1/proxies.')
  }

  async function get(tenant: string, id: string): Promise<Proxy> {
    return showProxy(await find(registry, tenant, PROXY_KIND, id))
  }

  /** Adds warnings to what a command answers, after it has let go of the API: a probe may take a second. */
  async function warned({ tenant }: Author, proxy: Proxy): Promise<Proxy> {
    const { body } = await find(registry, tenant, PROXY_KIND, proxy.id)
    const active = activeDeployment(body)
    const staged = stagedDeployment(body)
    return { ...proxy, warnings: await backendWarnings(tenant, staged ?? active, active, probeBackend) }
  }

  /** In turn with whatever else changes what this API serves. */
  async function inTurn(
    author: Author,
    id: string,
    command: (author: Author, id: string) => Promise<Proxy>,
  ): Promise<Proxy> {
    const { api } = await get(author.tenant, id)
    return mutex.runExclusive([api], () => command(author, id))
  }

  return {
    stage: async (author, input) => warned(author, await mutex.runExclusive([input.api], () => stage(author, input))),
    activate: async (author, id) => warned(author, await inTurn(author, id, activate)),
    discard: (author, id) => inTurn(author, id, discard),
    change,
    get,
    list: (tenant, query) =>
      listPage({
        registry,
        kind: PROXY_KIND,
        tenant,
        query,
        where: { api: query.api },
        show: showProxy,
      }),
    async revisions(tenant, id) {
      const { body } = await find(registry, tenant, PROXY_KIND, id)
      const items = body.actor.context.revisions.map(({ revision, fate, atMs }) => ({
        revision,
        fate,
        time: toTime(atMs),
        version: body.deployments[String(revision)]?.version ?? '',
        specification: body.deployments[String(revision)]?.specification ?? '',
      }))
      return { items, next: null }
    },
    async *activePlans() {
      for (let after = ''; ;) {
        const page = await registry.list(PROXY_KIND, { after, limit: PAGE })
        for (const proxy of page) {
          const deployment = activeDeployment(proxy.body)
          if (deployment === null) continue
          const { body } = await find(registry, proxy.tenant, API_KIND, proxy.body.api)
          yield await planOf(proxy, proxy.body, deployment, body)
        }
        if (page.length < PAGE) return
        after = page.at(-1)!.id
      }
    },
  }
}

/** The entry as it is when a revision serves. Throws where nothing may serve any more. */
function activated(body: ApiBody): ApiBody {
  refuseRetired(body)
  if (body.state !== 'Prospect') return body
  const result = step(apiLifecycle, apiActor(body), { type: 'activated' })
  if ('refused' in result) throw stateConflict(result.refused)
  return { ...body, actor: result.next, state: 'Active' }
}

function refuseRetired({ state }: ApiBody): void {
  if (state === 'Retired') throw stateConflict({ state, allowed: [] })
}

function isTaken(document: Document | null, { tenant }: Author): boolean {
  return document !== null && document.tenant !== tenant
}

function taken(api: string): string {
  return `The name ${api} is taken on this gateway.`
}

/** The catalogue entry, made with the first revision. */
function newEntry(author: Author, api: string, { title, major, version }: Deployment): Write {
  return apiWrite(api, author.tenant, 0, {
    title,
    major,
    version,
    state: 'Prospect',
    owner: author.consumer,
    complianceScore: null,
    programme: null,
    retirementDate: null,
    successor: null,
  })
}

/** Deployments of revisions that the actor still keeps. */
function kept({ revisions }: ProxyContext, deployments: ProxyBody['deployments']): ProxyBody['deployments'] {
  const numbers = new Set(revisions.map(({ revision }) => String(revision)))
  return Object.fromEntries(Object.entries(deployments).filter(([revision]) => numbers.has(revision)))
}
