/**
 * Programmes: from a document to a running API, and on to its next versions.
 *
 * A command writes down what is wanted and answers; the runner does the rest. An update within the major
 * version is held to what serves before anything is begun.
 */

import { readSpecification } from '../governance/specification.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Author, Document, Registry, Write } from '../store/registry.ts'
import { APPROVAL_KIND, movedFlow, stateOfFlow, stepFlow } from '../approvals/approval-document.ts'
import { toBackend, type BackendInput, type BackendRule } from '../publishing/backend-address.ts'
import { commit, find, fromBase64, invalidAt } from '../command/commands.ts'
import { createApiComplianceReader, type ApiCompliance } from './api-compliance.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import {
  freshActor,
  freshSteps,
  PROGRAMME_KIND,
  programmeWrite,
  showProgramme,
  showProgress,
  stepProgramme,
  type Programme,
  type ProgrammeWithSpecification,
  type ProgrammeBody,
  type Progress,
} from './programme-document.ts'
import { PROXY_KIND } from '../publishing/proxy-document.ts'
import { keepContract } from '../publishing/published-contract.ts'
import { contentWrite, readContent } from '../publishing/published-content.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ProgrammeInput {
  readonly name: string
  readonly specification: string
  readonly openSla?: string
  readonly backend?: NonNullable<ProgrammeBody['backend']>
}

export interface Programmes {
  create(author: Author, input: ProgrammeInput): Promise<Programme>
  get(tenant: string, id: string): Promise<ProgrammeWithSpecification>
  list(tenant: string, query: PageQuery & { api?: string; state?: string }): Promise<Page<Programme>>
  /** Another version within the major. */
  update(author: Author, id: string, specification: string): Promise<Programme>
  retry(author: Author, id: string): Promise<Programme>
  progress(tenant: string, id: string): Promise<Progress>
  /** Calls `listener` with every change of progress from now on; returns how to stop. */
  follow(tenant: string, id: string, listener: (progress: Progress) => void): Promise<() => void>
  compliance(tenant: string, id: string): Promise<ApiCompliance>
}

export interface ProgrammesOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly backendRule: Pick<BackendRule, 'refuse'>
}

export function createProgrammes({ registry, createId, clock, mutex, backendRule }: ProgrammesOptions): Programmes {
  const compliance = createApiComplianceReader({ registry, clock })
  const of = (tenant: string, id: string): Promise<Document<ProgrammeBody>> =>
    find(registry, tenant, PROGRAMME_KIND, id)

  async function create(author: Author, input: ProgrammeInput): Promise<Programme> {
    const { tenant } = author
    const [id, specification] = [createId('prg'), createId('spc')]
    const openSla = input.openSla === undefined ? null : createId('spc')
    if (input.backend !== undefined) await checkBackend(tenant, input.backend)
    const body: ProgrammeBody = {
      name: input.name,
      api: '',
      author,
      specification,
      openSla,
      backend: input.backend ?? null,
      score: null,
      errors: 0,
      recommendations: [],
      approvalFlow: null,
      proxy: null,
      subscription: null,
      steps: freshSteps(),
      actor: freshActor(),
    }
    await commit(registry, author, 'programme.create', [
      programmeWrite(id, tenant, 0, body),
      contentOf(specification, tenant, input.specification, '/specification'),
      ...(openSla === null ? [] : [contentOf(openSla, tenant, input.openSla ?? '', '/openSla')]),
    ])
    return show(tenant, id)
  }

  /** Rejects a backend early that a later step, the deployment, would reject. */
  async function checkBackend(tenant: string, input: BackendInput): Promise<void> {
    const refused = await backendRule.refuse(tenant, toBackend(input, null).url)
    if (refused !== null) throw invalidAt('/backend/url', refused)
  }

  function contentOf(id: string, tenant: string, text: string, pointer: string): Write {
    const bytes = fromBase64(text, pointer)
    const mediaType = /^\s*\{/.test(bytes.toString('latin1', 0, 64)) ? 'application/json' : 'application/yaml'
    return contentWrite(id, tenant, { bytes, mediaType })
  }

  async function update(author: Author, id: string, text: string): Promise<Programme> {
    const { tenant } = author
    const programme = await of(tenant, id)
    const { body } = programme
    const next = await readSpecification(fromBase64(text, '/specification'))
    if (body.api !== '' && next.technicalName !== body.api) {
      throw invalidAt(
        '/specification',
        `The title and version of the document yield the name ${next.technicalName}, but the programme is for ${body.api}. Start a new programme.`,
      )
    }
    const actor = stepProgramme(body, 'updated')
    await keepContract(
      registry,
      tenant,
      (await registry.find(PROXY_KIND, 'api', next.technicalName))?.body ?? null,
      next,
      clock.nowMs(),
    )
    const specification = createId('spc')
    const changed = { ...body, author, specification, approvalFlow: null, steps: freshSteps(), actor }
    await commit(registry, author, 'programme.update', [
      programmeWrite(id, tenant, programme.revision, changed),
      contentOf(specification, tenant, text, '/specification'),
      ...(await withdrawn(body)),
    ])
    return show(tenant, id)
  }

  /** Returns the writes that withdraw an approval flow that is no longer needed. */
  async function withdrawn({ approvalFlow }: ProgrammeBody): Promise<readonly Write[]> {
    const flow = approvalFlow === null ? null : await registry.get(APPROVAL_KIND, approvalFlow)
    if (flow === null || stateOfFlow(flow.body) === 'Complete') return []
    return movedFlow(registry, flow, { ...flow.body, actor: stepFlow(flow.body, { type: 'withdrawn' }) }, clock.nowMs())
  }

  async function retry(author: Author, id: string): Promise<Programme> {
    const { tenant } = author
    const { revision, body } = await of(tenant, id)
    const next = { ...body, actor: stepProgramme(body, 'retried') }
    await commit(registry, author, 'programme.retry', [programmeWrite(id, tenant, revision, next)])
    return show(tenant, id)
  }

  async function show(tenant: string, id: string): Promise<Programme> {
    return showProgramme(await of(tenant, id))
  }

  async function get(tenant: string, id: string): Promise<ProgrammeWithSpecification> {
    const programme = await of(tenant, id)
    const { bytes } = await readContent(registry, tenant, programme.body.specification)
    return { ...showProgramme(programme), specification: bytes.toString('base64') }
  }

  /** Returns the compliance of the programme's API, or that of its own document if there is no API yet. */
  async function complianceOf(tenant: string, id: string): Promise<ApiCompliance> {
    const { body } = await of(tenant, id)
    return compliance.of(tenant, body.api === '' ? id : body.api, body.score ?? 0)
  }

  return {
    create,
    get,
    list: (tenant, { api, state, ...query }) =>
      listPage({
        registry,
        kind: PROGRAMME_KIND,
        tenant,
        query,
        where: { api, state },
        show: showProgramme,
      }),
    update: (author, id, specification) => mutex.runExclusive([id], () => update(author, id, specification)),
    retry: (author, id) => mutex.runExclusive([id], () => retry(author, id)),
    progress: async (tenant, id) => showProgress(await of(tenant, id)),
    async follow(tenant, id, listener) {
      const end = await registry.end()
      const stop = registry.watch(end, ({ document, removed }) => {
        if (document.kind !== PROGRAMME_KIND || document.id !== id || document.tenant !== tenant || removed) return
        listener(showProgress(document as Document<ProgrammeBody>))
      })
      try {
        listener(showProgress(await of(tenant, id)))
      } catch (cause) {
        stop()
        throw cause
      }
      return stop
    },
    compliance: complianceOf,
  }
}
