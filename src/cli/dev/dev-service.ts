/** A service with one API and one consumer, for `tollgate dev`. */

import { randomBytes } from 'node:crypto'
import { enrol, readAccess, type Access } from '../enrol.ts'
import { CommandFailed } from '../exit-codes.ts'
import { freePort, isFree } from '../free-port.ts'
import type { Io } from '../io.ts'
import { createPlatformClient, type PlatformClient } from '../platform-client.ts'
import { deriveApiName } from '../resources/api-name.ts'
import { createApiClient, type ApiClient } from '../session/api-client.ts'
import { openSession, type Session } from '../session/session.ts'
import { startService, type ServiceProcess } from '../service-process.ts'
import { openDevFolder, type DevFolder } from './dev-folder.ts'

export interface DevService {
  readonly api: string
  readonly gatewayUrl: string
  readonly baseUrl: string
  /** The address of the backend. */
  readonly backend: string
  readonly access: Access
  readonly session: Session
  /** Method and path by operation id; a deployment changes them. */
  readonly endpoints: ReadonlyMap<string, string>
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
  /** Of the gateway; null: that of the last start, or a free one. */
  readonly port: number | null
  readonly io: Io
}

/** All calls are shown, nobody depends on the API, and the document may be on this machine like its backend. */
const SETTINGS = { REQUEST_LOG: 'all', DEVELOPMENT: 'on', GATEWAY_THREADS: '1' }

/** A busy machine takes a while. */
const START_MS_MAX = 120_000
const HOST = '127.0.0.1'

export async function startDevService(options: DevOptions): Promise<DevService> {
  const { document, declaration, file, port, io } = options
  const api = await deriveApiName(document, file)
  if (port !== null && !(await isFree(port, HOST)))
    throw new CommandFailed(`Port ${port} is in use. Choose another one with --port.`)
  const folder = await openDevFolder(api, ({ isDeclared }) => declaration !== null || !isDeclared)
  const { state } = folder
  io.err.write(`Starting a service in ${folder.name} …\n`)
  const service = await startService({
    args: ['--empty'],
    env: SETTINGS,
    startMsMax: START_MS_MAX,
    dataDir: folder.dataDir,
    clientSecret: state?.clientSecret ?? randomBytes(24).toString('base64url'),
    gatewayPort: port ?? (await portOf(state?.gatewayPort)),
    platformPort: await portOf(state?.platformPort),
  })
  const stop = async (): Promise<void> => {
    await service.stop()
    await folder.close()
  }
  try {
    return await fill(api, { service, folder, stop }, options)
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** Returns the port of the last start if it is free, otherwise another one. */
async function portOf(last: number | undefined): Promise<number> {
  return last !== undefined && (await isFree(last, HOST)) ? last : freePort(HOST)
}

interface Started {
  readonly service: ServiceProcess
  readonly folder: DevFolder
  readonly stop: () => Promise<void>
}

async function fill(api: string, { service, folder, stop }: Started, options: DevOptions): Promise<DevService> {
  const { document, declaration, io } = options
  const { gatewayUrl, baseUrl, clientId, clientSecret } = service
  const env = { TOLLGATE_URL: baseUrl, TOLLGATE_CLIENT_ID: clientId, TOLLGATE_CLIENT_SECRET: clientSecret }
  const session = await openSession({ ...io, env })
  const client = createApiClient(session)
  const platform = createPlatformClient(service)
  const declare = async (bytes: Buffer): Promise<void> => {
    await post(client, '/v1/openslaspecs', { api, specification: bytes.toString('base64') })
  }
  const first = await deployDocument(client, { api, document, backend: options.backend })
  if (declaration !== null) await declare(declaration)
  const of = { platform, gatewayUrl, api }
  const subscription = await subscribe(of, folder.state?.subscription)
  await setScopes(client, subscription, first.declaredScopes)
  const access = await readAccess({ ...of, subscription })
  await folder.save({
    gatewayPort: portIn(gatewayUrl),
    platformPort: portIn(baseUrl),
    clientSecret,
    subscription,
    isDeclared: declaration !== null,
  })
  const endpoints = new Map<string, string>()
  let scopes = first.declaredScopes
  const readEndpoints = async (): Promise<void> => {
    endpoints.clear()
    for (const [operation, endpoint] of await listEndpoints(client, subscription)) endpoints.set(operation, endpoint)
  }
  await readEndpoints()

  async function deploy(bytes: Buffer): Promise<Deployed> {
    const name = await deriveApiName(bytes, options.file)
    if (name !== api)
      throw new CommandFailed(`The document is now ${name}, another API than ${api}. Start again to serve it.`)
    const { revision, declaredScopes } = await deployDocument(client, {
      api,
      document: bytes,
      backend: options.backend,
    })
    await setScopes(client, subscription, declaredScopes)
    await readEndpoints()
    const isSame = declaredScopes.join(' ') === scopes.join(' ')
    scopes = declaredScopes
    return { revision, token: isSame ? null : (await readAccess({ ...of, subscription })).token }
  }
  return { api, gatewayUrl, baseUrl, backend: first.backend, access, session, endpoints, deploy, declare, stop }
}

function portIn(url: string): number {
  return Number(new URL(url).port)
}

/** Returns the subscription of the last start, or a new one. */
async function subscribe(
  { platform, gatewayUrl, api }: { platform: PlatformClient; gatewayUrl: string; api: string },
  last: string | undefined,
): Promise<string> {
  const { items } = await platform.get<{ items: readonly { id: string }[] }>(
    `/v1/subscriptions?ApiId=${api}&state=Active&limit=500`,
  )
  const known = items.find(({ id }) => id === last)
  if (known !== undefined) return known.id
  return (await enrol({ platform, gatewayUrl, api, name: 'dev', kind: 'application' })).subscription
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

/** Gives the subscription all scopes of the document. */
async function setScopes(client: ApiClient, subscription: string, scopes: readonly string[]): Promise<void> {
  const path = `/v1/subscriptions/${subscription}/scopes`
  await client.call({ method: 'PUT', path, body: JSON.stringify({ scopes }) })
}

async function listEndpoints(client: ApiClient, subscription: string): Promise<readonly (readonly [string, string])[]> {
  const path = `/v1/subscriptions/${subscription}/operations?limit=500`
  const { items } = (await client.call({ method: 'GET', path })) as {
    readonly items: readonly { readonly operationId: string; readonly method: string; readonly path: string }[]
  }
  return items.map((operation) => [operation.operationId, `${operation.method} ${operation.path}`])
}

function post(client: ApiClient, path: string, body?: object): Promise<unknown> {
  return client.call({ method: 'POST', path, ...(body !== undefined && { body: JSON.stringify(body) }) })
}
