/** Documents as they were published, byte for byte: OpenAPI and OpenSLA. */

import { Problem, type ProblemPointer } from '../domain/problem.ts'
import { checkDeclaration, parseDeclaration } from '../opensla/declaration.ts'
import type { SlaPlan } from '../plan/sla-plan.ts'
import type { CreateId } from '../runtime/ids.ts'
import {
  type DocumentKind,
  documentKind,
  type Author,
  type Document,
  type Registry,
  type Write,
} from '../store/registry.ts'
import { affectsSubscriptions } from './affected-subscriptions.ts'
import { API_KIND, apiWrite } from './apis.ts'
import { commit, find, fromBase64, invalidAt, toTime } from '../command/commands.ts'
import { eventWrite } from '../command/event-outbox.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { PLATFORM_API, type PlatformOperation } from '../domain/platform-api.ts'
import { defaultPlatformSla } from './platform-sla.ts'
import { PROXY_KIND, activeDeployment, stagedDeployment } from './proxy-document.ts'
import { contentWrite, readContent, type Content } from './published-content.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface OpenApiSpec {
  readonly id: string
  readonly api: string
  readonly version: string
  readonly mediaType: string
  readonly createdAt: string
}

export interface OpenSlaSpec {
  readonly id: string
  readonly api: string
  readonly variant: string
  readonly version: string
  readonly inForce: boolean
  readonly createdAt: string
}

/** A declaration that was just taken into force, with what it says in vain or hardly means. */
export interface DeclaredOpenSla extends OpenSlaSpec {
  readonly warnings: readonly ProblemPointer[]
}

export interface OpenApiSpecBody {
  readonly api: string
  readonly version: string
  readonly mediaType: string
}

export const OPENAPI_SPEC_KIND = documentKind<OpenApiSpecBody>('openapispec')

export interface OpenSlaSpecBody {
  readonly api: string
  readonly variant: string
  readonly version: string
  readonly inForce: boolean
  /** Operations that the API had when it was declared: it may go on naming them. */
  readonly operationIds: readonly string[]
}

export const OPENSLA_SPEC_KIND = documentKind<OpenSlaSpecBody>('openslaspec')

export interface Specifications {
  openApi(tenant: string, id: string): Promise<OpenApiSpec>
  openApis(tenant: string, query: PageQuery & { api?: string }): Promise<Page<OpenApiSpec>>
  openApiContent(tenant: string, id: string): Promise<Content>
  /** Takes a declaration into force: for running subscriptions too, on every thread when it resolves. */
  createOpenSla(author: Author, input: { api: string; specification: string }): Promise<DeclaredOpenSla>
  openSla(tenant: string, id: string): Promise<OpenSlaSpec>
  openSlas(tenant: string, query: PageQuery & { api?: string }): Promise<Page<OpenSlaSpec>>
  openSlaContent(tenant: string, id: string): Promise<Content>
  /** The plans in force of an API, one a variant. */
  plansInForce(api: string, operationIds: readonly string[]): Promise<readonly SlaPlan[]>
}

export interface SpecificationsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly gateway: Pick<GatewayPort, 'applySla'>
  readonly mutex: KeyedMutex
  /** Operations of the platform's own API, which has no proxy that would tell. */
  readonly platformOperations?: readonly Pick<PlatformOperation, 'operationId'>[]
}

/** More variants of one API are refused. */
const VARIANTS_MAX = 100

export function createSpecifications(options: SpecificationsOptions): Specifications {
  const { registry, createId, gateway, mutex, platformOperations = [] } = options
  const ofPlatform = platformOperations.map(({ operationId }) => operationId)

  async function inForce(api: string): Promise<readonly Document<OpenSlaSpecBody>[]> {
    return registry.list(OPENSLA_SPEC_KIND, { where: { api, inForce: 'true' }, limit: VARIANTS_MAX + 1 })
  }

  async function createOpenSla(
    author: Author,
    { api, specification }: { api: string; specification: string },
  ): Promise<DeclaredOpenSla> {
    const entry = await registry.get(API_KIND, api)
    const operationIds = await operationsOf(api)
    if (entry?.tenant !== author.tenant || operationIds.length === 0)
      throw invalidAt('/api', 'The API does not exist or has no revision.')
    const bytes = fromBase64(specification, '/specification')
    const { plan, warnings } = checkDeclaration(bytes, { technicalName: api, operationIds })
    const running = await inForce(api)
    const before = running.find(({ body }) => body.variant === plan.variant)
    if (before === undefined && running.length >= VARIANTS_MAX) {
      throw new Problem('state_conflict', `An API must not have more than ${VARIANTS_MAX} variants.`)
    }
    const { variant } = plan
    const declared = running.map((each) => each.body.variant)
    const isChange = before !== undefined || (await affectsSubscriptions(registry, { api, variant, declared }))
    const id = createId('sla')
    const body: OpenSlaSpecBody = {
      api,
      variant: plan.variant,
      version: plan.version,
      inForce: true,
      operationIds,
    }
    const mediaType = isJson(bytes) ? 'application/json' : 'application/yaml'
    await commit(registry, author, 'openslaspec.create', [
      { kind: OPENSLA_SPEC_KIND, id, tenant: author.tenant, expected: 0, body, keys: keysOf(body) },
      contentWrite(id, author.tenant, { bytes, mediaType }),
      // Moves the entry on, so that of two declarations, or of one and an activation, one is refused.
      apiWrite(api, author.tenant, entry.revision, entry.body),
      ...(before === undefined ? [] : [retire(before)]),
      ...(isChange ? [slaChanged(createId, author.tenant, before?.body ?? null, body)] : []),
    ])
    await gateway.applySla(plan)
    return { ...showSla(await find(registry, author.tenant, OPENSLA_SPEC_KIND, id)), warnings }
  }

  /** Returns the operations of the active and the staged revision: a declaration may precede its revision. */
  async function operationsOf(api: string): Promise<readonly string[]> {
    if (api === PLATFORM_API) return ofPlatform
    const proxy = await registry.find(PROXY_KIND, 'api', api)
    const deployments = proxy === null ? [] : [activeDeployment(proxy.body), stagedDeployment(proxy.body)]
    return [...new Set(deployments.flatMap((deployment) => deployment?.operationIds ?? []))]
  }

  async function contentOf<Body>(kind: DocumentKind<Body>, tenant: string, id: string): Promise<Content> {
    await find(registry, tenant, kind, id)
    return readContent(registry, tenant, id)
  }

  return {
    openApi: async (tenant, id) => showOpenApi(await find(registry, tenant, OPENAPI_SPEC_KIND, id)),
    openApis: (tenant, query) =>
      listPage({
        registry,
        kind: OPENAPI_SPEC_KIND,
        tenant,
        query,
        where: { api: query.api },
        show: showOpenApi,
      }),
    openApiContent: (tenant, id) => contentOf(OPENAPI_SPEC_KIND, tenant, id),
    // Serialized with activations, so that no activation restores a plan that this declaration replaces.
    createOpenSla: (author, input) => mutex.runExclusive([input.api], () => createOpenSla(author, input)),
    openSla: async (tenant, id) => showSla(await find(registry, tenant, OPENSLA_SPEC_KIND, id)),
    openSlas: (tenant, query) =>
      listPage({
        registry,
        kind: OPENSLA_SPEC_KIND,
        tenant,
        query,
        where: { api: query.api },
        show: showSla,
      }),
    openSlaContent: (tenant, id) => contentOf(OPENSLA_SPEC_KIND, tenant, id),
    async plansInForce(api, operationIds) {
      const plans: SlaPlan[] = []
      const current = api === PLATFORM_API ? ofPlatform : operationIds
      for (const { id, tenant, body } of await inForce(api)) {
        const { bytes } = await readContent(registry, tenant, id)
        const known = [...new Set([...current, ...body.operationIds])]
        plans.push(parseDeclaration(bytes, { technicalName: api, operationIds: known }))
      }
      const isDeclared = api !== PLATFORM_API || plans.some(({ variant }) => variant === '')
      return isDeclared || ofPlatform.length === 0 ? plans : [...plans, defaultPlatformSla(ofPlatform)]
    },
  }
}

function slaChanged(createId: CreateId, tenant: string, before: OpenSlaSpecBody | null, after: OpenSlaSpecBody): Write {
  const { api, variant, version: to } = after
  return eventWrite(createId, tenant, 'SlaChanged', {
    api,
    variant: variant || null,
    from: before?.version ?? null,
    to,
  })
}

function keysOf({ api, inForce }: OpenSlaSpecBody): Record<string, string> {
  return { api, inForce: String(inForce) }
}

function retire({ kind, id, tenant, revision, body }: Document<OpenSlaSpecBody>) {
  const retired = { ...body, inForce: false }
  return { kind, id, tenant, expected: revision, body: retired, keys: keysOf(retired) }
}

function showOpenApi({ id, body, createdAtMs }: Document<OpenApiSpecBody>): OpenApiSpec {
  const { api, version, mediaType } = body
  return { id, api, version, mediaType, createdAt: toTime(createdAtMs) }
}

function showSla({ id, body, createdAtMs }: Document<OpenSlaSpecBody>): OpenSlaSpec {
  const { api, variant, version, inForce } = body
  return { id, api, variant, version, inForce, createdAt: toTime(createdAtMs) }
}

function isJson(bytes: Buffer): boolean {
  return /^\s*\{/.test(bytes.toString('latin1', 0, 64))
}
