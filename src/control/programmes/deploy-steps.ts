/** The last three steps of a programme: stages the document with its declaration, subscribes the requester, and activates the revision. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { BackendInput } from '../publishing/backend-address.ts'
import { openSecrets, type Owner } from '../publishing/backend-secrets.ts'
import { API_KIND, apiWrite } from '../publishing/apis.ts'
import type { Proxies } from '../publishing/proxies.ts'
import { PROXY_KIND, activeDeployment, stagedDeployment, type Deployment } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import { isSameBackend } from '../publishing/same-backend.ts'
import { OPENSLA_SPEC_KIND, type Specifications } from '../publishing/specifications.ts'
import { commit } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import type { Subscriptions } from '../subscriptions/subscriptions.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { secretsOwner, type ProgrammeBody } from './programme-document.ts'
import type { ProgrammeStepWork, StepResult } from './step-result.ts'

export interface DeployStepsOptions {
  readonly registry: Registry
  readonly vault: Pick<Vault, 'decrypt'>
  readonly proxies: Pick<Proxies, 'stage' | 'activate'>
  readonly specifications: Pick<Specifications, 'createOpenSla'>
  readonly subscriptions: Pick<Subscriptions, 'create' | 'list'>
  readonly mutex: KeyedMutex
}

export interface DeploySteps {
  readonly deploy: ProgrammeStepWork
  readonly subscribe: ProgrammeStepWork
  readonly activate: ProgrammeStepWork
}

type Programme = Document<ProgrammeBody>

const LIST_MAX = 500

export function createDeploySteps(options: DeployStepsOptions): DeploySteps {
  return {
    deploy: (programme) => deploy(options, programme),
    subscribe: (programme) => subscribe(options, programme),
    activate: (programme) => activate(options, programme),
  }
}

async function deploy(options: DeployStepsOptions, { id, tenant, body }: Programme): Promise<StepResult> {
  const { registry, proxies } = options
  const { api, author, openSla } = body
  const wanted = await wantedOf(options, { id, tenant, body })
  const { bytes, backend } = wanted
  const current = await registry.find(PROXY_KIND, 'api', api)
  const isDone =
    current !== null &&
    ((await isDeployed(options, wanted, stagedDeployment(current.body))) ||
      (await isDeployed(options, wanted, activeDeployment(current.body))))
  const input = { api, specification: bytes, ...(backend !== null && { backend }) }
  const proxy = isDone ? current.id : (await proxies.stage(author, input)).id
  await linkToProgramme(options, tenant, api, id)
  if (openSla !== null) await declare(options, tenant, body, openSla)
  return { changes: { proxy } }
}

/** The document and the backend that a programme deploys. */
interface Wanted extends Owner {
  readonly bytes: Buffer
  /** With its secrets in clear; null: the programme has none. */
  readonly backend: BackendInput | null
}

async function wantedOf(
  { registry, vault }: DeployStepsOptions,
  { id, tenant, body: { api, backend, specification } }: Pick<Programme, 'id' | 'tenant' | 'body'>,
): Promise<Wanted> {
  const { bytes } = await readContent(registry, tenant, specification)
  const opened = backend === null ? null : openSecrets(vault, secretsOwner(tenant, id), backend)
  return { tenant, api, bytes, backend: opened }
}

/** Compares the backend as well: a programme may replace a secret and nothing else. */
async function isDeployed(
  { registry, vault }: DeployStepsOptions,
  wanted: Wanted,
  deployment: Deployment | null,
): Promise<boolean> {
  if (deployment === null) return false
  const { tenant, bytes, backend } = wanted
  if (backend !== null && !isSameBackend(vault, wanted, backend, deployment.backend)) return false
  return (await readContent(registry, tenant, deployment.specification)).bytes.equals(bytes)
}

/** Stores the id of the programme in the catalogue entry. */
function linkToProgramme(
  { registry, mutex }: DeployStepsOptions,
  tenant: string,
  api: string,
  programme: string,
): Promise<void> {
  return mutex.runExclusive([api], async () => {
    const entry = await registry.get(API_KIND, api)
    if (entry?.tenant !== tenant || entry.body.programme === programme) return
    const write = apiWrite(api, tenant, entry.revision, { ...entry.body, programme })
    await commit(registry, { tenant, consumer: 'system' }, 'api.programme', [write])
  })
}

async function declare(
  { registry, specifications }: DeployStepsOptions,
  tenant: string,
  { api, author }: ProgrammeBody,
  content: string,
): Promise<void> {
  const { bytes } = await readContent(registry, tenant, content)
  const where = { api, inForce: 'true' }
  for (const { id } of await registry.list(OPENSLA_SPEC_KIND, { tenant, where, limit: LIST_MAX })) {
    if ((await readContent(registry, tenant, id)).bytes.equals(bytes)) return
  }
  await specifications.createOpenSla(author, { api, specification: bytes })
}

async function subscribe({ subscriptions }: DeployStepsOptions, { tenant, body }: Programme): Promise<StepResult> {
  const { api, author, subscription } = body
  const { consumer } = author
  if (subscription !== null) return {}
  const { items } = await subscriptions.list(tenant, { consumer, api, limit: LIST_MAX })
  const live = items.find(({ state }) => state !== 'Cancelled' && state !== 'Rejected')
  const { id } = live ?? (await subscriptions.create(author, { consumer, api, force: true }))
  return { changes: { subscription: id } }
}

async function activate(options: DeployStepsOptions, { id, tenant, body }: Programme): Promise<StepResult> {
  const { registry, proxies } = options
  const { author, proxy } = body
  const current = proxy === null ? null : await registry.get(PROXY_KIND, proxy)
  if (proxy === null || current === null) throw new Problem('not_found', 'The proxy of the programme was deleted.')
  const wanted = await wantedOf(options, { id, tenant, body })
  if (!(await isDeployed(options, wanted, activeDeployment(current.body)))) await proxies.activate(author, proxy)
  return {}
}
