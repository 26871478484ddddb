/** A service with one API and one consumer, for `tollgate dev`. */

import { enrol, readAccess, type Access } from '../enrol.ts'
import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { createPlatformClient, type PlatformClient } from '../platform-client.ts'
import { deriveApiName } from '../resources/api-name.ts'
import { createApiClient, errorLine, refuseProblem, type ApiClient } from '../session/api-client.ts'
import { parseJson, type HttpAnswer } from '../session/http.ts'
import { openSession, type Session } from '../session/session.ts'
import { inviteOwner, writeDevContext } from './dev-sign-in.ts'
import { startDev, type StartedDev } from './dev-start.ts'

export interface DevService {
  readonly api: string
  readonly gatewayUrl: string
  readonly baseUrl: string
  /** The address of the backend. */
  readonly backend: string
  readonly access: Access
  readonly subscription: string
  /** Name of the context with which the command line signs in; null: there is none. */
  readonly context: string | null
  /** One-time link with which the user `owner` sets a password; null: the user has one. */
  readonly ownerLink: string | null
  readonly session: Session
  /** Method and path by operation id, as they are now. */
  endpoints(): ReadonlyMap<string, string>
  /** Deploys a new version of the document. */
  deploy(document: Buffer): Promise<Deployed>
  declare(declaration: Buffer): Promise<void>
  stop(): Promise<void>
}

export interface Deployed {
  readonly revision: number
  /** A token with the scopes of the new document; null: they are the same. */
  readonly token: string | null
}

export interface DevOptions {
  readonly file: string
  readonly document: Buffer
  readonly declaration: Buffer | null
  /** Null: the first server of the document. */
  readonly backend: string | null
  /** The port of the gateway; null: that of the last start, or a free one. */
  readonly port: number | null
  readonly io: Io
}

export async function startDevService(options: DevOptions): Promise<DevService> {
  const { document, declaration, file, port, io } = options
  const api = await deriveApiName(document, file)
  const started = await startDev({ api, hasDeclaration: declaration !== null, port, io })
  const { service, tokens, folder } = started
  const context = await writeDevContext({ api, service, tokens, io })
  const stop = async (): Promise<void> => {
    await context.remove()
    await service.stop()
    await folder.close()
  }
  try {
    return await fill(api, { ...started, context: context.name, stop }, options)
  } catch (cause) {
    await stop()
    throw cause
  }
}

interface Started extends StartedDev {
  readonly context: string | null
  readonly stop: () => Promise<void>
}

async function fill(api: string, started: Started, options: DevOptions): Promise<DevService> {
  const { service, folder, data, state, context, stop } = started
  const { document, declaration, io } = options
  const { gatewayUrl, baseUrl, clientId, clientSecret } = service
  const env = { TOLLGATE_URL: baseUrl, TOLLGATE_CLIENT_ID: clientId, TOLLGATE_CLIENT_SECRET: clientSecret }
  const session = await openSession({ ...io, env })
  const client = createApiClient(session)
  const declare = async (bytes: Buffer): Promise<void> => {
    const declared = (await post(client, '/v1/openslaspecs', { api, specification: bytes.toString('base64') })) as {
      readonly warnings?: readonly unknown[]
    }
    for (const warning of declared.warnings ?? []) io.err.write(`${errorLine(warning)}\n`)
  }
  const first = await deployDocument(client, { api, document, backend: options.backend })
  if (declaration !== null) await declare(declaration)
  const of = { platform: createPlatformClient(service), gatewayUrl, api }
  const { subscription, ...access } = await subscribe(client, of, first.declaredScopes, state?.subscription)
  await folder.save({
    data,
    gatewayPort: portIn(gatewayUrl),
    platformPort: portIn(baseUrl),
    clientId,
    clientSecret,
    subscription,
    isDeclared: declaration !== null,
  })
  let endpoints = await listEndpoints(client, subscription)
  const ownerLink = await inviteOwner(client)

  async function deploy(bytes: Buffer): Promise<Deployed> {
    const name = await deriveApiName(bytes, options.file)
    if (name !== api)
      throw new CommandFailed(`The document is now ${name}, another API than ${api}. Start again to serve it.`)
    const { revision, declaredScopes } = await deployDocument(client, {
      api,
      document: bytes,
      backend: options.backend,
    })
    const isChanged = await setScopes(client, subscription, declaredScopes)
    endpoints = await listEndpoints(client, subscription)
    return { revision, token: isChanged ? (await readAccess({ ...of, subscription })).token : null }
  }
  return {
    api,
    gatewayUrl,
    baseUrl,
    backend: first.backend,
    access,
    subscription,
    context,
    ownerLink,
    session,
    endpoints: () => endpoints,
    deploy,
    declare,
    stop,
  }
}

function portIn(url: string): number {
  return Number(new URL(url).port)
}

interface Enrolling {
  readonly platform: PlatformClient
  readonly gatewayUrl: string
  readonly api: string
}

/** Returns the subscription of the last start with all scopes of the document, or a new one if its access has ended. */
async function subscribe(
  client: ApiClient,
  of: Enrolling,
  scopes: readonly string[],
  last: string | undefined,
): Promise<Access & { readonly subscription: string }> {
  const path = `/v1/subscriptions?ApiId=${of.api}&state=Active&limit=500`
  const { items } = await of.platform.get<{ items: readonly { id: string }[] }>(path)
  if (items.some(({ id }) => id === last)) {
    const subscription = String(last)
    await setScopes(client, subscription, scopes)
    const access = await readAccess({ ...of, subscription }).catch(() => null)
    if (access !== null) return { subscription, ...access }
  }
  const { subscription, token, apiKey, clientId } = await enrol({ ...of, name: 'dev', kind: 'application' })
  return { subscription, token, apiKey, clientId }
}

interface Deployment {
  readonly api: string
  readonly document: Buffer
  readonly backend: string | null
}

interface DeployedDocument {
  readonly revision: number
  readonly backend: string
  readonly declaredScopes: readonly string[]
}

async function deployDocument(client: ApiClient, { api, document, backend }: Deployment): Promise<DeployedDocument> {
  const address = backend === null ? null : { url: backend }
  const staged = { api, specification: document.toString('base64'), backend: address }
  const answer = await client.send({ method: 'POST', path: '/v1/proxies', body: JSON.stringify(staged) })
  if (backend === null && isWithoutBackend(answer)) {
    throw new CommandFailed(
      'The document has no absolute URL in servers. Name the address of your service with --backend URL.',
    )
  }
  refuseProblem(answer)
  const { id } = parseJson(answer) as { readonly id: string }
  const active = (await post(client, `/v1/proxies/${id}/activate`)) as Omit<DeployedDocument, 'backend'> & {
    readonly backend: { readonly url: string }
  }
  return { revision: active.revision, backend: active.backend.url, declaredScopes: active.declaredScopes }
}

/** Whether neither the request nor the document has a backend. */
function isWithoutBackend(answer: HttpAnswer): boolean {
  const { errors } = (answer.status < 300 ? {} : (parseJson(answer) ?? {})) as { readonly errors?: unknown }
  return (
    Array.isArray(errors) &&
    errors.some((error: { readonly pointer?: unknown } | null) => error?.pointer === '/backend')
  )
}

/** Gives the subscription all scopes of the document. Returns whether it had others. */
async function setScopes(client: ApiClient, subscription: string, scopes: readonly string[]): Promise<boolean> {
  const path = `/v1/subscriptions/${subscription}`
  const { scopes: held } = (await client.call({ method: 'GET', path })) as { readonly scopes: readonly string[] }
  if (held.toSorted().join(' ') === scopes.toSorted().join(' ')) return false
  await client.call({ method: 'PUT', path: `${path}/scopes`, body: JSON.stringify({ scopes }) })
  return true
}

async function listEndpoints(client: ApiClient, subscription: string): Promise<ReadonlyMap<string, string>> {
  const path = `/v1/subscriptions/${subscription}/operations?limit=500`
  const { items } = (await client.call({ method: 'GET', path })) as {
    readonly items: readonly { readonly operationId: string; readonly method: string; readonly path: string }[]
  }
  return new Map(items.map((operation) => [operation.operationId, `${operation.method} ${operation.path}`]))
}

function post(client: ApiClient, path: string, body?: object): Promise<unknown> {
  return client.call({ method: 'POST', path, ...(body !== undefined && { body: JSON.stringify(body) }) })
}
