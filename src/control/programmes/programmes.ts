/**
 * Programmes: from a document to a running API and its later versions.
 *
 * A command only stores the request; the runner executes the steps. An update within the major version must
 * not break callers of the active revision, which is checked before any step.
 */

import type { EncodedText } from '../../foundation/domain/encoded-text.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { originsOf } from '../../boundary/plan/backend-targets.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { APPROVAL_KIND, movedFlow, stateOfFlow, stepFlow } from '../approvals/approval-document.ts'
import { checkAddresses, toBackend, type BackendInput, type BackendRule } from '../publishing/backend-address.ts'
import { checkSecrets, convertSecrets } from '../publishing/backend-secrets.ts'
import { commit, find, fromBase64, invalidAt } from '../command/commands.ts'
import { createApiComplianceReader, type ApiCompliance } from './api-compliance.ts'
import { changeLabels } from '../command/label-change.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import {
  initialActor,
  initialSteps,
  PROGRAMME_KIND,
  programmeWrite,
  secretsOwner,
  showProgramme,
  showProgress,
  stepProgramme,
  type Programme,
  type ProgrammeWithSpecification,
  type ProgrammeBody,
  type Progress,
} from './programme-document.ts'
import type { DocumentReader, ReadDocument } from '../publishing/document-reader.ts'
import { PROXY_KIND, type ProxyBody } from '../publishing/proxy-document.ts'
import { readNext, refuseBreaking, type ContractOptions, type RulesetOf } from '../publishing/published-contract.ts'
import { contentWrite, readContent } from '../publishing/published-content.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ProgrammeInput extends Labelled {
  readonly name: string
  readonly specification: EncodedText
  readonly openSla?: EncodedText
  readonly backend?: NonNullable<ProgrammeBody['backend']>
}

export interface Programmes {
  create(author: Author, input: ProgrammeInput): Promise<Programme>
  get(tenant: string, id: string): Promise<ProgrammeWithSpecification>
  list(tenant: string, query: PageQuery & { api?: string; state?: string }): Promise<Page<Programme>>
  /** Starts the steps again with another version of the document, within the major version. */
  update(author: Author, id: string, specification: EncodedText): Promise<Programme>
  /** Changes the labels; waits for the steps that are running. */
  label(author: Author, id: string, change: Labelled): Promise<Programme>
  retry(author: Author, id: string): Promise<Programme>
  progress(tenant: string, id: string): Promise<Progress>
  /** Calls `listener` with the current progress and with each change. Returns a function that stops it. */
  follow(tenant: string, id: string, listener: (progress: Progress) => void): Promise<() => void>
  /** Returns the compliance of the programme's API, or that of its own document if there is no API yet. */
  compliance(tenant: string, id: string): Promise<ApiCompliance>
}

export interface ProgrammesOptions extends Pick<ContractOptions, 'allowsBreaking'> {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'read'>
  readonly rulesetOf: RulesetOf
  readonly createId: CreateId
  readonly vault: Pick<Vault, 'encrypt'>
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly backendRule: Pick<BackendRule, 'refuse'>
}

export function createProgrammes(options: ProgrammesOptions): Programmes {
  const { registry, mutex } = options
  const compliance = createApiComplianceReader(options)

  return {
    create: (author, input) => create(options, author, input),
    async get(tenant, id) {
      const programme = await find(registry, tenant, PROGRAMME_KIND, id)
      const { bytes } = await readContent(registry, tenant, programme.body.specification)
      return { ...showProgramme(programme), specification: bytes.toString('base64') }
    },
    list: (tenant, { api, state, ...query }) =>
      listPage({
        registry,
        kind: PROGRAMME_KIND,
        tenant,
        query,
        where: { api, state },
        show: showProgramme,
      }),
    update: (author, id, specification) => mutex.runExclusive([id], () => update(options, author, id, specification)),
    label: (author, id, change) =>
      mutex.runExclusive([id], async () => {
        const of = { kind: PROGRAMME_KIND, id, action: 'programme.label', write: programmeWrite }
        return showProgramme(await changeLabels(registry, author, of, change))
      }),
    retry: (author, id) => mutex.runExclusive([id], () => retry(options, author, id)),
    progress: async (tenant, id) => showProgress(await find(registry, tenant, PROGRAMME_KIND, id)),
    follow: (tenant, id, listener) => follow(registry, tenant, id, listener),
    async compliance(tenant, id) {
      const { body } = await find(registry, tenant, PROGRAMME_KIND, id)
      return compliance.of(tenant, body.api === '' ? id : body.api, body.score ?? 0)
    },
  }
}

async function create(options: ProgrammesOptions, author: Author, input: ProgrammeInput): Promise<Programme> {
  const { registry, createId, vault } = options
  const { tenant } = author
  const [id, specification] = [createId('prg'), createId('spc')]
  const openSla = input.openSla === undefined ? null : createId('spc')
  const backend = input.backend ?? null
  if (backend !== null) await checkBackend(options, tenant, backend)
  const body: ProgrammeBody = {
    name: input.name,
    api: '',
    author,
    specification,
    openSla,
    backend: backend === null ? null : convertSecrets(backend, secretsOwner(tenant, id), vault.encrypt),
    score: null,
    errors: 0,
    recommendations: [],
    approvalFlow: null,
    proxy: null,
    subscription: null,
    steps: initialSteps(),
    actor: initialActor(),
    ...(input.labels && { labels: input.labels }),
  }
  await commit(registry, author, 'programme.create', [
    programmeWrite(id, tenant, 0, body),
    await contentOf(specification, tenant, input.specification, '/specification'),
    ...(openSla === null ? [] : [await contentOf(openSla, tenant, input.openSla ?? '', '/openSla')]),
  ])
  return showProgramme(await find(registry, tenant, PROGRAMME_KIND, id))
}

/** Rejects a backend early that the deployment step would reject. */
async function checkBackend(
  { backendRule, clock }: ProgrammesOptions,
  tenant: string,
  input: BackendInput,
): Promise<void> {
  const backend = toBackend(input, null)
  await checkAddresses(backendRule, tenant, backend)
  checkSecrets(input, originsOf(backend), clock.nowMs())
}

async function contentOf(id: string, tenant: string, text: EncodedText, pointer: string): Promise<Write> {
  const bytes = fromBase64(text, pointer)
  const mediaType = /^\s*\{/.test(bytes.toString('latin1', 0, 64)) ? 'application/json' : 'application/yaml'
  return contentWrite(id, tenant, { bytes, mediaType })
}

async function update(options: ProgrammesOptions, author: Author, id: string, text: EncodedText): Promise<Programme> {
  const { registry, createId } = options
  const { tenant } = author
  const { revision, body } = await find(registry, tenant, PROGRAMME_KIND, id)
  const bytes = fromBase64(text, '/specification')
  const { next, current } = await readUpdate(options, tenant, bytes, body.api)
  if (body.api !== '' && next.technicalName !== body.api) {
    throw invalidAt(
      '/specification',
      `The title and version of the document yield the name ${next.technicalName}, but the programme is for ${body.api}. Start a new programme.`,
    )
  }
  const actor = stepProgramme(body, 'updated')
  refuseBreaking(options, next, current)
  const specification = createId('spc')
  const changed = { ...body, author, specification, approvalFlow: null, steps: initialSteps(), actor }
  await commit(registry, author, 'programme.update', [
    programmeWrite(id, tenant, revision, changed),
    await contentOf(specification, tenant, text, '/specification'),
    ...(await withdrawnFlow(options, body)),
  ])
  return showProgramme(await find(registry, tenant, PROGRAMME_KIND, id))
}

/** Reads a document and compares it with the active revision of `api`; if that is empty, of the API that the document names. */
async function readUpdate(
  options: ProgrammesOptions,
  tenant: string,
  bytes: Buffer,
  api: string,
): Promise<{ readonly next: ReadDocument; readonly current: ProxyBody | null }> {
  const proxy = api === '' ? null : await options.registry.find(PROXY_KIND, 'api', api)
  const current = proxy?.body ?? null
  const next = await readNext(options, tenant, bytes, current)
  return api === '' ? readUpdate(options, tenant, bytes, next.technicalName) : { next, current }
}

/** Returns the writes that withdraw an open approval flow. */
async function withdrawnFlow(
  { registry, clock }: ProgrammesOptions,
  { approvalFlow }: ProgrammeBody,
): Promise<readonly Write[]> {
  const flow = approvalFlow === null ? null : await registry.get(APPROVAL_KIND, approvalFlow)
  if (flow === null || stateOfFlow(flow.body) === 'Complete') return []
  return movedFlow(registry, flow, { ...flow.body, actor: stepFlow(flow.body, { type: 'withdrawn' }) }, clock.nowMs())
}

async function retry({ registry }: ProgrammesOptions, author: Author, id: string): Promise<Programme> {
  const { tenant } = author
  const { revision, body } = await find(registry, tenant, PROGRAMME_KIND, id)
  const actor = stepProgramme(body, 'retried')
  const approvalFlow = (await isRejected(registry, body)) ? null : body.approvalFlow
  const next = { ...body, approvalFlow, actor }
  await commit(registry, author, 'programme.retry', [programmeWrite(id, tenant, revision, next)])
  return showProgramme(await find(registry, tenant, PROGRAMME_KIND, id))
}

async function isRejected(registry: Registry, { approvalFlow }: ProgrammeBody): Promise<boolean> {
  const flow = approvalFlow === null ? null : await registry.get(APPROVAL_KIND, approvalFlow)
  return flow?.body.approvals.at(-1)?.outcome === 'Rejected'
}

async function follow(
  registry: Registry,
  tenant: string,
  id: string,
  listener: (progress: Progress) => void,
): Promise<() => void> {
  const unwatch = registry.watch(await registry.end(), ({ document, removed }) => {
    if (document.kind !== PROGRAMME_KIND || document.id !== id || document.tenant !== tenant || removed) return
    listener(showProgress(document as Document<ProgrammeBody>))
  })
  try {
    listener(showProgress(await find(registry, tenant, PROGRAMME_KIND, id)))
  } catch (cause) {
    unwatch()
    throw cause
  }
  return unwatch
}
