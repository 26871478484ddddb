/** The deployment of a new revision: a servable document, its backend, and the scopes that callers may use. */

import type { Comparison } from '../governance/compare/change.ts'
import { readSpecification, type Specification } from '../governance/specification.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Author, Write } from '../store/registry.ts'
import { toBackend, type BackendInput, type BackendRule } from './backend-address.ts'
import { chooseBackend } from './backend-choice.ts'
import { fromBase64, invalidAt } from '../command/commands.ts'
import { defaultScopes, usesDefaultScopes } from './compile-security.ts'
import { compileDocument, compiledWrite } from './compiled-document.ts'
import { activeDeployment, type Deployment, type ProxyBody } from './proxy-document.ts'
import { contentWrite } from './published-content.ts'
import { OPENAPI_SPEC_KIND, type OpenApiSpecBody } from './specifications.ts'

export interface StageInput {
  readonly api: string
  /** base64 */
  readonly specification?: string
  readonly fromRevision?: number
  readonly backend?: BackendInput
  readonly allowedScopes?: readonly string[]
}

export interface DeploymentOptions {
  readonly author: Author
  readonly input: StageInput
  readonly current: ProxyBody | null
  readonly createId: CreateId
  /** Returns what the document was compared with; null if none is active. Throws if the new document breaks its callers. */
  readonly check: (next: Uint8Array) => Promise<Pick<Comparison, 'serverUrl'> | null>
  readonly backendRule: Pick<BackendRule, 'refuse'>
}

export interface NewDeployment {
  readonly deployment: Deployment
  /** The writes of a new document and its compiled form; none for a retained revision. */
  readonly writes: Write[]
}

/** Deploys either a new document or the content of a retained revision. */
export async function toDeployment(options: DeploymentOptions): Promise<NewDeployment> {
  const { specification, fromRevision } = options.input
  if ((specification === undefined) === (fromRevision === undefined)) {
    throw invalidAt('/specification', 'Set exactly one of `specification` and `fromRevision`.')
  }
  return fromRevision === undefined ? fromDocument(options, specification ?? '') : fromRetained(options, fromRevision)
}

async function fromRetained(options: DeploymentOptions, revision: number): Promise<NewDeployment> {
  const { input, current } = options
  const from = current?.deployments[String(revision)]
  if (from === undefined) throw invalidAt('/fromRevision', 'The revision does not exist or is no longer retained.')
  const backend = input.backend === undefined ? from.backend : toBackend(input.backend, null)
  await checkAddress(options, input.backend === undefined ? '/fromRevision' : '/backend/url', backend.url)
  const { isBackendExempt: _, ...rest } = from
  return {
    deployment: {
      ...rest,
      backend,
      ...(input.backend !== undefined && { backendSource: 'request' as const }),
      allowedScopes: within(input.allowedScopes, from.declaredScopes),
    },
    writes: [],
  }
}

async function fromDocument(options: DeploymentOptions, text: string): Promise<NewDeployment> {
  const { author, input, current, createId, check } = options
  const bytes = fromBase64(text, '/specification')
  const specification = await readSpecification(bytes)
  const { technicalName, serverUrl, title, major, version, mediaType } = specification
  if (technicalName !== input.api) {
    throw invalidAt(
      '/api',
      `The title and version of the document yield the name ${technicalName}; \`api\` must match it.`,
    )
  }
  const before = await check(bytes)
  const active = current === null ? null : activeDeployment(current)
  const serving = active === null ? null : { backend: active.backend, serverUrl: before?.serverUrl ?? null }
  const chosen = chooseBackend({ input: input.backend, serverUrl, serving })
  const source = chosen.backendSource === 'document' ? '/servers/0/url' : '/backend/url'
  await checkAddress(options, source, chosen.backend.url)
  const declaredScopes = declaredBy(specification)
  const id = createId('oas')
  const deployment: Deployment = {
    specification: id,
    version,
    title,
    major,
    ...chosen,
    declaredScopes,
    allowedScopes: within(input.allowedScopes, declaredScopes),
    operationIds: specification.operations.map(({ operationId }) => operationId),
  }
  const { tenant } = author
  const body: OpenApiSpecBody = { api: input.api, version, mediaType }
  const write: Write = { kind: OPENAPI_SPEC_KIND, id, tenant, expected: 0, body, keys: { api: input.api } }
  const compiled = compileDocument(specification)
  return {
    deployment,
    writes: [write, contentWrite(id, tenant, { bytes, mediaType }), compiledWrite(id, tenant, compiled)],
  }
}

async function checkAddress({ backendRule, author }: DeploymentOptions, pointer: string, url: string): Promise<void> {
  const refused = await backendRule.refuse(author.tenant, url)
  if (refused !== null) throw invalidAt(pointer, refused)
}

function declaredBy(specification: Specification): readonly string[] {
  const { declaredScopes, technicalName } = specification
  return usesDefaultScopes(specification)
    ? [...new Set([...declaredScopes, ...defaultScopes(technicalName)])]
    : declaredScopes
}

/** Returns the allowed scopes, by default all declared ones. Throws if one is not declared. */
function within(allowed: readonly string[] | undefined, declared: readonly string[]): readonly string[] {
  if (allowed === undefined) return declared
  const foreign = allowed.findIndex((scope) => !declared.includes(scope))
  if (foreign >= 0) throw invalidAt(`/allowedScopes/${foreign}`, 'The document does not declare this scope.')
  return allowed
}
