/** A service with one API and one consumer, for `tollgate dev`. */

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { enrol, readAccess, type Access } from '../enrol.ts'
import { CommandFailed } from '../exit-codes.ts'
import { freePort, isFree } from '../free-port.ts'
import type { Io } from '../io.ts'
import { createPlatformClient, type PlatformClient } from '../platform-client.ts'
import { toPlain } from '../output/plain-text.ts'
import { deriveApiName } from '../resources/api-name.ts'
import { createApiClient, type ApiClient } from '../session/api-client.ts'
import { openSession, type Session } from '../session/session.ts'
import { startService, type ServiceProcess } from '../service-process.ts'
import { newDataName, openDevFolder, type DevFolder, type DevState } from './dev-folder.ts'

export interface DevService {
  readonly api: string
  readonly gatewayUrl: string
  readonly baseUrl: string
  /** The address of the backend. */
  readonly backend: string
  readonly access: Access
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

/** All calls are shown, and the API has no other callers. */
const SETTINGS = { REQUEST_LOG: 'all', DEVELOPMENT: 'on', GATEWAY_THREADS: '1' }

/** A busy machine takes a while. */
const START_MS_MAX = 120_000
const HOST = '127.0.0.1'

export async function startDevService(options: DevOptions): Promise<DevService> {
  const { document, declaration, file, port, io } = options
  const api = await deriveApiName(document, file)
  if (port !== null && !(await isFree(port, HOST)))
    throw new CommandFailed(`Port ${port} is in use. Choose another one with --port.`)
  const folder = await openDevFolder(api, io)
  const state = await usableState(folder, declaration !== null, io)
  const data = state?.data ?? newDataName()
  const dataDir = folder.dataDirOf({ data })
  io.err.write(`Starting a service in ${dataDir} …\n`)
  const service = await startService({
    args: ['--empty'],
    env: SETTINGS,
    startMsMax: START_MS_MAX,
    dataDir,
    clientSecret: state?.clientSecret ?? randomBytes(24).toString('base64url'),
    gatewayPort: port ?? (await portOf(folder.state?.gatewayPort)),
    platformPort: await portOf(folder.state?.platformPort, port),
  })
  const stop = async (): Promise<void> => {
    await service.stop()
    await folder.close()
  }
  try {
    return await fill(api, { service, folder, data, state, stop }, options)
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** Returns null to begin anew: a declaration of an earlier start cannot be taken away. */
async function usableState(
  { state, dataDirOf }: DevFolder,
  hasDeclaration: boolean,
  { err }: Io,
): Promise<DevState | null> {
  if (state === null || hasDeclaration || !state.isDeclared) return state
  err.write('Beginning anew without the declaration of the last start: the key changes.\n')
  // Another `dev` may still serve it.
  if (await isFree(state.platformPort, HOST)) await rm(dataDirOf(state), { recursive: true, force: true })
  return null
}

/** Returns the port of the last start if it is free, otherwise another one. */
async function portOf(last: number | undefined, taken: number | null = null): Promise<number> {
  return last !== undefined && last !== taken && (await isFree(last, HOST)) ? last : freePort(HOST)
}

interface Started {
  readonly service: ServiceProcess
  readonly folder: DevFolder
  /** Name of the data folder. */
  readonly data: string
  readonly state: DevState | null
  readonly stop: () => Promise<void>
}

async function fill(api: string, started: Started, options: DevOptions): Promise<DevService> {
  const { service, folder, data, state, stop } = started
  const { document, declaration, io } = options
  const { gatewayUrl, baseUrl, clientId, clientSecret } = service
  const env = { TOLLGATE_URL: baseUrl, TOLLGATE_CLIENT_ID: clientId, TOLLGATE_CLIENT_SECRET: clientSecret }
  const session = await openSession({ ...io, env })
  const client = createApiClient(session)
  const declare = async (bytes: Buffer): Promise<void> => {
    const declared = (await post(client, '/v1/openslaspecs', { api, specification: bytes.toString('base64') })) as {
      readonly warnings?: readonly { readonly pointer: string; readonly detail: string }[]
    }
    for (const { pointer, detail } of declared.warnings ?? []) io.err.write(`${toPlain(`${pointer} ${detail}`)}\n`)
  }
  const first = await deployDocument(client, { api, document, backend: options.backend })
  if (declaration !== null) await declare(declaration)
  const of = { platform: createPlatformClient(service), gatewayUrl, api }
  const { subscription, ...access } = await subscribe(client, of, first.declaredScopes, state?.subscription)
  await folder.save({
    data,
    gatewayPort: portIn(gatewayUrl),
    platformPort: portIn(baseUrl),
    clientSecret,
    subscription,
    isDeclared: declaration !== null,
  })
  let endpoints = await listEndpoints(client, subscription)

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
  const { subscription, token, apiKey } = await enrol({ ...of, name: 'dev', kind: 'application' })
  return { subscription, token, apiKey }
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
  const { id } = (await post(client, '/v1/proxies', staged)) as { readonly id: string }
  const active = (await post(client, `/v1/proxies/${id}/activate`)) as Omit<DeployedDocument, 'backend'> & {
    readonly backend: { readonly url: string }
  }
  return { revision: active.revision, backend: active.backend.url, declaredScopes: active.declaredScopes }
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
