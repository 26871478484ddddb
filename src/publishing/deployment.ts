/** What a new revision deploys: a document that can be served, its backend, the scopes it may be called with. */

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
  /** Returns the document that serves, if any. Throws if a new document cannot follow it. */
  readonly check: (next: Specification) => Promise<Specification | null>
  readonly backendRule: Pick<BackendRule, 'refuse'>
}

export interface NewDeployment {
  readonly deployment: Deployment
  /** The document and what it compiles to, where it is a new one. */
  readonly writes: Write[]
}

/** Either a new document, or what a kept revision deployed. */
export async function toDeployment({
  author,
  input,
  current,
  createId,
  check,
  backendRule,
}: DeploymentOptions): Promise<NewDeployment> {
  if ((input.specification === undefined) === (input.fromRevision === undefined)) {
    throw invalidAt('/specification', 'Give either a specification or fromRevision.')
  }
  if (input.fromRevision !== undefined) {
    const from = current?.deployments[String(input.fromRevision)]
    if (from === undefined) throw invalidAt('/fromRevision', 'There is no such revision, or it is no longer kept.')
    const backend = input.backend === undefined ? from.backend : toBackend(input.backend, null)
    await checkAddress(input.backend === undefined ? '/fromRevision' : '/backend/url', backend.url)
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
  async function checkAddress(pointer: string, url: string): Promise<void> {
    const refused = await backendRule.refuse(author.tenant, url)
    if (refused !== null) throw invalidAt(pointer, refused)
  }

  const bytes = fromBase64(input.specification ?? '', '/specification')
  const specification = await readSpecification(bytes)
  if (specification.technicalName !== input.api) {
    throw invalidAt('/api', `The document is that of ${specification.technicalName}.`)
  }
  const before = await check(specification)
  const active = current === null ? null : activeDeployment(current)
  const serving = active === null ? null : { backend: active.backend, serverUrl: before?.serverUrl ?? null }
  const chosen = chooseBackend({ input: input.backend, serverUrl: specification.serverUrl, serving })
  await checkAddress(chosen.backendSource === 'document' ? '/servers/0/url' : '/backend/url', chosen.backend.url)
  const declaredScopes = declaredBy(specification)
  const id = createId('oas')
  const deployment: Deployment = {
    specification: id,
    version: specification.version,
    title: specification.title,
    major: specification.major,
    ...chosen,
    declaredScopes,
    allowedScopes: within(input.allowedScopes, declaredScopes),
    operationIds: specification.operations.map(({ operationId }) => operationId),
  }
  const { mediaType, version } = specification
  const { tenant } = author
  const body: OpenApiSpecBody = { api: input.api, version, mediaType }
  const write: Write = { kind: OPENAPI_SPEC_KIND, id, tenant, expected: 0, body, keys: { api: input.api } }
  const compiled = compileDocument(specification)
  return {
    deployment,
    writes: [write, contentWrite(id, tenant, { bytes, mediaType }), compiledWrite(id, tenant, compiled)],
  }
}

function declaredBy(specification: Specification): readonly string[] {
  const { declaredScopes, technicalName } = specification
  return usesDefaultScopes(specification)
    ? [...new Set([...declaredScopes, ...defaultScopes(technicalName)])]
    : declaredScopes
}

function within(allowed: readonly string[] | undefined, declared: readonly string[]): readonly string[] {
  if (allowed === undefined) return declared
  const foreign = allowed.findIndex((scope) => !declared.includes(scope))
  if (foreign >= 0) throw invalidAt(`/allowedScopes/${foreign}`, 'The document does not declare this scope.')
  return allowed
}
