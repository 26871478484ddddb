/** Stages a revision of an API; the first one also creates the proxy and the catalogue entry. */

import { commit, invalidAt, stateConflict } from '../command/commands.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { API_KIND, apiWrite, type ApiBody } from './apis.ts'
import type { BackendRule } from './backend-address.ts'
import { toDeployment, type StageInput } from './deployment.ts'
import type { DocumentReader, ReadDocument } from './document-reader.ts'
import { PROXY_KIND, proxyWrite, type Deployment, type ProxyBody } from './proxy-document.ts'
import { initialRevisions, retained, stepRevisions } from './proxy-revisions.ts'
import { readNext, refuseBreaking, type ContractOptions, type RulesetOf } from './published-contract.ts'
import { takenName } from './taken-name.ts'

export interface StageOptions extends Pick<ContractOptions, 'allowsBreaking'> {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'read'>
  readonly rulesetOf: RulesetOf
  readonly createId: CreateId
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Clock
  readonly backendRule: Pick<BackendRule, 'refuse'>
}

/** Returns the id of the proxy. */
export async function stageRevision(options: StageOptions, author: Author, input: StageInput): Promise<string> {
  const { registry, createId, vault, clock, backendRule } = options
  const { tenant } = author
  const { api } = input
  const current = await registry.find(PROXY_KIND, 'api', api)
  const entry = await registry.get(API_KIND, api)
  if (isForeign(current, author) || isForeign(entry, author) || entry?.body.ownScopes !== undefined) {
    throw await takenName(registry, createId, api)
  }
  if (entry !== null) refuseRetired(entry.body)
  const before = current?.body ?? null
  const event = { type: 'revision.staged', atMs: clock.nowMs() } as const
  const actor = stepRevisions(before?.actor ?? initialRevisions(event.atMs), event)
  const read = (bytes: Buffer): Promise<ReadDocument> => readAllowed(options, tenant, bytes, api, before)
  const { deployment, writes } = await toDeployment({
    author,
    input,
    current: before,
    createId,
    vault,
    nowMs: clock.nowMs(),
    read,
    backendRule,
  })
  const id = current?.id ?? createId('prx')
  const proxy = proxyWrite(id, tenant, current?.revision ?? 0, withStaged(before, api, deployment, actor))
  const created = entry === null ? [newEntry(author, api, deployment)] : []
  await commit(registry, author, 'proxy.stage', [...writes, proxy, ...created], nameTaken(api))
  return id
}

/** Throws if the document is of another API, or breaks the callers of the active revision. */
async function readAllowed(
  options: StageOptions,
  tenant: string,
  bytes: Buffer,
  api: string,
  current: ProxyBody | null,
): Promise<ReadDocument> {
  const document = await readNext(options, tenant, bytes, current)
  const { technicalName } = document
  if (technicalName !== api) {
    throw invalidAt(
      '/api',
      `The title and version of the document yield the name ${technicalName}; \`api\` must match it.`,
    )
  }
  refuseBreaking(options, document, current)
  return document
}

/** Throws if the API is retired, because it can never serve again. */
export function refuseRetired({ state }: ApiBody): void {
  if (state === 'Retired') throw stateConflict({ state, allowed: [] })
}

function withStaged(
  before: ProxyBody | null,
  api: string,
  deployment: Deployment,
  actor: ProxyBody['actor'],
): ProxyBody {
  const staged = { ...before?.deployments, [String(actor.context.stagingRevision)]: deployment }
  return {
    ...(before?.labels && { labels: before.labels }),
    api,
    actor,
    deployments: retained(actor.context, staged),
    memberOfProductIds: before?.memberOfProductIds ?? [],
  }
}

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

function isForeign(document: Document | null, { tenant }: Author): boolean {
  return document !== null && document.tenant !== tenant
}

function nameTaken(api: string): string {
  return `The name ${api} is taken on this gateway.`
}
