/** The deployment of a new revision: a servable document, its backend, and the scopes that callers may use. */

import type { EncodedText } from '../../foundation/domain/encoded-text.ts'
import { originsOf } from '../../boundary/plan/backend-targets.ts'
import type { TransformPlan } from '../../boundary/plan/transform-plan.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Author, Write } from '../../storage/store/registry.ts'
import { checkAddresses, toBackend, type BackendInput, type BackendRule } from './backend-address.ts'
import { chooseBackend } from './backend-choice.ts'
import { checkSecrets, sealSecrets } from './backend-secrets.ts'
import { certificateFault } from './backend-tls.ts'
import { fromBase64, invalidAt } from '../command/commands.ts'
import { compiledWrite } from './compiled-document.ts'
import type { ReadDocument } from './document-reader.ts'
import {
  activeDeployment,
  stagedDeployment,
  type DeployedBackend,
  type Deployment,
  type ProxyBody,
} from './proxy-document.ts'
import { contentWrite, type Content } from './published-content.ts'
import { openApiWrite, type OpenApiSpecBody } from './specifications.ts'
import { toTransform } from './transform-input.ts'

export interface StageInput {
  readonly api: string
  readonly specification?: EncodedText
  readonly fromRevision?: number
  /** Null: `servers[0]` of the document. */
  readonly backend?: BackendInput | null
  /** Null: none. Missing: that of the active revision. */
  readonly transform?: TransformPlan | null
  readonly allowedScopes?: readonly string[]
}

export interface DeploymentOptions {
  readonly author: Author
  readonly input: StageInput
  readonly current: ProxyBody | null
  readonly createId: CreateId
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly nowMs: number
  /** Reads a new document. Throws if it breaks the callers of the active one. */
  readonly read: (bytes: Buffer) => Promise<ReadDocument>
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
  if (input.backend === null)
    throw invalidAt('/backend', 'A retained revision has the backend that it had, or a new one.')
  const from = current?.deployments[String(revision)]
  if (from === undefined) throw invalidAt('/fromRevision', 'The revision does not exist or is no longer retained.')
  const backend =
    input.backend === undefined ? from.backend : withSecrets(options, input.backend, toBackend(input.backend, null))
  await checkBackend(options, backend, input.backend === undefined ? '/fromRevision' : undefined)
  const { isBackendExempt: _, transform, ...rest } = from
  return {
    deployment: {
      ...rest,
      backend,
      ...transformOf(input, transform),
      ...(input.backend !== undefined && { backendSource: 'request' as const }),
      allowedScopes: within(input.allowedScopes, from.declaredScopes),
    },
    writes: [],
  }
}

async function fromDocument(options: DeploymentOptions, text: EncodedText): Promise<NewDeployment> {
  const { author, input, current, createId, read } = options
  const bytes = fromBase64(text, '/specification')
  const document = await read(bytes)
  const { serverUrl, title, major, version, mediaType, declaredScopes, operationIds, previous, compiled } = document
  const active = current === null ? null : activeDeployment(current)
  const serving = active === null ? null : { backend: active.backend, serverUrl: previous?.serverUrl ?? null }
  const chosen = chooseBackend({ input: input.backend, serverUrl, serving })
  await checkBackend(options, chosen.backend, chosen.backendSource === 'document' ? '/servers/0/url' : undefined)
  const id = createId('oas')
  const deployment: Deployment = {
    specification: id,
    version,
    title,
    major,
    ...chosen,
    ...((input.backend ?? null) !== null && { backend: withSecrets(options, input.backend!, chosen.backend) }),
    ...transformOf(input, active?.transform),
    declaredScopes,
    allowedScopes: within(input.allowedScopes, declaredScopes),
    ...(document.countsUnits && { countsUnits: true }),
    ...(document.publicWrites.length > 0 && { publicWrites: document.publicWrites }),
    operationIds,
  }
  const { tenant } = author
  const { converted } = document
  const content: Content =
    converted === null ? { bytes, mediaType } : { bytes: Buffer.from(converted), mediaType: 'application/json' }
  const body: OpenApiSpecBody = { api: input.api, version, mediaType: content.mediaType }
  const write = openApiWrite(id, tenant, 0, body)
  return {
    deployment,
    writes: [write, await contentWrite(id, tenant, content), compiledWrite(id, tenant, compiled)],
  }
}

/** Adds the secrets of a request, or those of the active or the staged revision that it refers to. */
function withSecrets(
  { vault, nowMs, author: { tenant }, input: { api }, current }: DeploymentOptions,
  input: BackendInput,
  backend: DeployedBackend,
): DeployedBackend {
  const origins = originsOf(backend)
  checkSecrets(input, origins, nowMs)
  const revisions = current === null ? [] : [activeDeployment(current), stagedDeployment(current)]
  const earlier = revisions.flatMap((revision) => (revision === null ? [] : [revision.backend]))
  return { ...backend, ...sealSecrets(input, { vault, tenant, api, nowMs, origins, ca: input.tls?.ca, earlier }) }
}

function transformOf({ transform }: StageInput, before: TransformPlan | undefined): Pick<Deployment, 'transform'> {
  const next = transform === undefined ? (before ?? null) : transform === null ? null : toTransform(transform)
  return next === null ? {} : { transform: next }
}

/** Also checks a backend that an earlier revision had: its certificate may have expired. */
function checkBackend(
  { backendRule, author, nowMs }: DeploymentOptions,
  backend: DeployedBackend,
  pointer: string | undefined,
): Promise<void> {
  const fault = certificateFault(backend.tls ?? {}, nowMs)
  if (fault !== null) throw invalidAt('/backend/tls/certificate', fault)
  return checkAddresses(backendRule, author.tenant, backend, pointer)
}

/** Returns the allowed scopes, by default all declared ones. Throws if one is not declared. */
function within(allowed: readonly string[] | undefined, declared: readonly string[]): readonly string[] {
  if (allowed === undefined) return declared
  const foreign = allowed.findIndex((scope) => !declared.includes(scope))
  if (foreign >= 0) throw invalidAt(`/allowedScopes/${foreign}`, 'The document does not declare this scope.')
  return allowed
}
