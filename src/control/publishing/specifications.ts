/** Published OpenAPI and OpenSLA documents, byte for byte, and the OpenSLA declarations in force. */

import type { EncodedText } from '../../foundation/domain/encoded-text.ts'
import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import { checkDeclaration } from '../../documents/opensla/declaration.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import {
  type DocumentKind,
  documentKind,
  type Author,
  type Document,
  type Registry,
  type Write,
} from '../../storage/store/registry.ts'
import { affectsSubscriptions } from './affected-subscriptions.ts'
import { API_KIND, apiWrite } from './apis.ts'
import { commit, find, fromBase64, invalidAt, toTime } from '../command/commands.ts'
import { eventWrite } from '../command/event-outbox.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import { changeLabels } from '../command/label-change.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { PLATFORM_API, type PlatformOperation } from '../../foundation/domain/platform-api.ts'
import { defaultPlatformSla } from './platform-sla.ts'
import { PROXY_KIND, activeDeployment, stagedDeployment } from './proxy-document.ts'
import { declaredWrites, readDeclared } from './declared-fields.ts'
import { contentWrite, readContent, type Content } from './published-content.ts'
import { latestNumber, toSlaPlans, type InForce } from './sla-plans.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface OpenApiSpec {
  readonly id: string
  readonly api: string
  readonly version: string
  readonly mediaType: string
  readonly labels: Labels
  readonly createdAt: string
}

export interface OpenSlaSpec {
  readonly id: string
  readonly api: string
  readonly variant: string
  readonly version: string
  readonly inForce: boolean
  readonly labels: Labels
  readonly createdAt: string
}

/** A new declaration, with warnings about members that have no effect or are probably unintended. */
export interface DeclaredOpenSla extends OpenSlaSpec {
  readonly warnings: readonly ProblemPointer[]
}

export interface OpenApiSpecBody extends Labelled {
  readonly api: string
  readonly version: string
  readonly mediaType: string
}

export const OPENAPI_SPEC_KIND = documentKind<OpenApiSpecBody>('openapispec', ['api', 'version', 'mediaType', 'labels'])

export interface OpenSlaSpecBody extends Labelled {
  readonly api: string
  readonly variant: string
  readonly version: string
  readonly inForce: boolean
  /** As in `SlaPlan`; missing in declarations of earlier versions, which come first. */
  readonly number?: number
  /** Operations of the API at the time of the declaration, which may name them even if a later revision removes them. */
  readonly operationIds: readonly string[]
}

export const OPENSLA_SPEC_KIND = documentKind<OpenSlaSpecBody>('openslaspec', [
  'api',
  'variant',
  'version',
  'inForce',
  'labels',
])

export interface OpenSlaInput extends Labelled {
  readonly api: string
  readonly specification: EncodedText
}

export interface Specifications {
  openApi(tenant: string, id: string): Promise<OpenApiSpec>
  /** Changes the labels. */
  updateOpenApi(author: Author, id: string, change: Labelled): Promise<OpenApiSpec>
  openApis(tenant: string, query: PageQuery & { api?: string }): Promise<Page<OpenApiSpec>>
  openApiContent(tenant: string, id: string): Promise<Content>
  /** Puts a declaration in force, also for existing subscriptions. Every thread applies it when this resolves. */
  createOpenSla(author: Author, input: OpenSlaInput): Promise<DeclaredOpenSla>
  /** Changes the labels. */
  updateOpenSla(author: Author, id: string, change: Labelled): Promise<OpenSlaSpec>
  openSla(tenant: string, id: string): Promise<OpenSlaSpec>
  openSlas(tenant: string, query: PageQuery & { api?: string; inForce?: boolean }): Promise<Page<OpenSlaSpec>>
  openSlaContent(tenant: string, id: string): Promise<Content>
  /** Returns the plans in force of an API, one per variant. */
  plansInForce(api: string, operationIds: readonly string[]): Promise<readonly SlaPlan[]>
}

export interface SpecificationsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly gateway: Pick<GatewayPort, 'applySla'>
  readonly mutex: KeyedMutex
  /** Operations of the platform's own API, which has no proxy. */
  readonly platformOperations?: readonly Pick<PlatformOperation, 'operationId'>[]
}

/** Upper bound of variants per API. */
const VARIANTS_MAX = 100

export function createSpecifications(options: SpecificationsOptions): Specifications {
  const { registry, mutex } = options

  async function contentOf<Body>(kind: DocumentKind<Body>, tenant: string, id: string): Promise<Content> {
    await find(registry, tenant, kind, id)
    return readContent(registry, tenant, id)
  }

  return {
    openApi: async (tenant, id) => showOpenApi(await find(registry, tenant, OPENAPI_SPEC_KIND, id)),
    async updateOpenApi(author, id, labelling) {
      const of = { kind: OPENAPI_SPEC_KIND, id, action: 'openapispec.update', write: openApiWrite }
      return showOpenApi(await changeLabels(registry, author, of, labelling))
    },
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
    createOpenSla: (author, input) => mutex.runExclusive([input.api], () => createOpenSla(options, author, input)),
    openSla: async (tenant, id) => showSla(await find(registry, tenant, OPENSLA_SPEC_KIND, id)),
    updateOpenSla: (author, id, labelling) => updateOpenSla(options, author, id, labelling),
    openSlas: (tenant, query) =>
      listPage({
        registry,
        kind: OPENSLA_SPEC_KIND,
        tenant,
        query,
        where: { api: query.api, inForce: query.inForce?.toString() },
        show: showSla,
      }),
    openSlaContent: (tenant, id) => contentOf(OPENSLA_SPEC_KIND, tenant, id),
    plansInForce: (api, operationIds) => plansInForce(options, api, operationIds),
  }
}

async function createOpenSla(
  options: SpecificationsOptions,
  author: Author,
  { api, specification, labels }: OpenSlaInput,
): Promise<DeclaredOpenSla> {
  const { registry, createId, gateway } = options
  const { tenant } = author
  const entry = await registry.get(API_KIND, api)
  const operationIds = await operationsOf(options, api)
  if (entry?.tenant !== tenant || operationIds.length === 0)
    throw invalidAt('/api', 'The API does not exist or has no revision.')
  const bytes = fromBase64(specification, '/specification')
  const { plan, fields, warnings } = checkDeclaration(bytes, { technicalName: api, operationIds })
  const { variant, version } = plan
  const current = await inForce(registry, api)
  const number = latestNumber(current) + 1
  const before = current.find(({ body }) => body.variant === variant)
  if (before === undefined && current.length >= VARIANTS_MAX) {
    const extensions = { state: 'full', allowed: [] }
    throw new Problem('state_conflict', `An API must not have more than ${VARIANTS_MAX} variants.`, { extensions })
  }
  const declared = current.map((each) => each.body.variant)
  const isChange = before !== undefined || (await affectsSubscriptions(registry, { api, variant, declared }))
  const id = createId('sla')
  const body: OpenSlaSpecBody = {
    ...{ api, variant, version, inForce: true, number, operationIds },
    ...(labels && { labels }),
  }
  const mediaType = isJson(bytes) ? 'application/json' : 'application/yaml'
  await commit(registry, author, 'openslaspec.create', [
    openSlaWrite(id, tenant, 0, body),
    await contentWrite(id, tenant, { bytes, mediaType }),
    ...declaredWrites(id, tenant, { bytes, fields }),
    // An unchanged write of the entry, so that a concurrent declaration or activation fails.
    apiWrite(api, tenant, entry.revision, entry.body),
    ...(before === undefined ? [] : [retire(before)]),
    ...(isChange ? [slaChanged(createId, tenant, before?.body ?? null, body)] : []),
  ])
  await gateway.applySla({ ...plan, number })
  return { ...showSla(await find(registry, tenant, OPENSLA_SPEC_KIND, id)), warnings }
}

/** Serialized with the declaration that replaces this one. */
async function updateOpenSla(
  { registry, mutex }: SpecificationsOptions,
  author: Author,
  id: string,
  labelling: Labelled,
): Promise<OpenSlaSpec> {
  const { body } = await find(registry, author.tenant, OPENSLA_SPEC_KIND, id)
  const of = { kind: OPENSLA_SPEC_KIND, id, action: 'openslaspec.update', write: openSlaWrite }
  return mutex.runExclusive([body.api], async () => showSla(await changeLabels(registry, author, of, labelling)))
}

/** Returns the writes that end the declarations in force of an API that is removed. */
export async function endedDeclarationWrites(registry: Registry, api: string): Promise<readonly Write[]> {
  return (await inForce(registry, api)).map(retire)
}

/** Returns the operations of the active and the staged revision, because a declaration may precede its revision. */
export async function operationsOf(
  options: Pick<SpecificationsOptions, 'registry' | 'platformOperations'>,
  api: string,
): Promise<readonly string[]> {
  if (api === PLATFORM_API) return platformOperationIds(options)
  const proxy = await options.registry.find(PROXY_KIND, 'api', api)
  const deployments = proxy === null ? [] : [activeDeployment(proxy.body), stagedDeployment(proxy.body)]
  return [...new Set(deployments.flatMap((deployment) => deployment?.operationIds ?? []))]
}

function platformOperationIds({
  platformOperations = [],
}: Pick<SpecificationsOptions, 'platformOperations'>): readonly string[] {
  return platformOperations.map(({ operationId }) => operationId)
}

/** Whether a declaration of the API is in force. */
export async function isDeclared(registry: Registry, api: string): Promise<boolean> {
  return (await inForce(registry, api)).length > 0
}

async function inForce(registry: Registry, api: string): Promise<readonly Document<OpenSlaSpecBody>[]> {
  return registry.list(OPENSLA_SPEC_KIND, { where: { api, inForce: 'true' }, limit: VARIANTS_MAX + 1 })
}

async function plansInForce(
  options: SpecificationsOptions,
  api: string,
  operationIds: readonly string[],
): Promise<readonly SlaPlan[]> {
  const { registry } = options
  const platformIds = platformOperationIds(options)
  const current = api === PLATFORM_API ? platformIds : operationIds
  const declared: InForce[] = []
  for (const { id, tenant, body } of await inForce(registry, api)) {
    declared.push({ body, fields: await readDeclared(registry, tenant, id) })
  }
  const plans = toSlaPlans(declared, current)
  const hasDefault = api !== PLATFORM_API || plans.some(({ variant }) => variant === '')
  if (hasDefault || platformIds.length === 0) return plans
  return [...plans, { ...defaultPlatformSla(platformIds), number: latestNumber(declared) }]
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

export function openApiWrite(id: string, tenant: string, expected: number, body: OpenApiSpecBody): Write {
  return { kind: OPENAPI_SPEC_KIND, id, tenant, expected, body, keys: { api: body.api } }
}

export function openSlaWrite(id: string, tenant: string, expected: number, body: OpenSlaSpecBody): Write {
  const keys = { api: body.api, inForce: String(body.inForce) }
  return { kind: OPENSLA_SPEC_KIND, id, tenant, expected, body, keys }
}

function retire({ id, tenant, revision, body }: Document<OpenSlaSpecBody>): Write {
  return openSlaWrite(id, tenant, revision, { ...body, inForce: false })
}

function showOpenApi({ id, body, createdAtMs }: Document<OpenApiSpecBody>): OpenApiSpec {
  const { api, version, mediaType, labels = {} } = body
  return { id, api, version, mediaType, labels, createdAt: toTime(createdAtMs) }
}

function showSla({ id, body, createdAtMs }: Document<OpenSlaSpecBody>): OpenSlaSpec {
  const { api, variant, version, inForce, labels = {} } = body
  return { id, api, variant, version, inForce, labels, createdAt: toTime(createdAtMs) }
}

function isJson(bytes: Buffer): boolean {
  return /^\s*\{/.test(bytes.toString('latin1', 0, 64))
}
