/** A temporary service with one API and one consumer, for `tollgate dev`. */

import { enrol, type Enrolment } from '../enrol.ts'
import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { createPlatformClient } from '../platform-client.ts'
import { deriveApiName } from '../resources/api-name.ts'
import { createApiClient, type ApiClient } from '../session/api-client.ts'
import { openSession, type Session } from '../session/session.ts'
import { startService, type ServiceProcess } from '../service-process.ts'

export interface DevService {
  readonly api: string
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly consumer: Enrolment
  readonly session: Session
  /** Method and path by operation id. */
  readonly endpoints: ReadonlyMap<string, string>
  /** Deploys a new version of the document; returns the number of its revision. */
  deploy(document: Buffer): Promise<number>
  declare(declaration: Buffer): Promise<void>
  /** Stops the service and removes its folder. */
  stop(): Promise<void>
}

export interface DevOptions {
  readonly file: string
  readonly document: Buffer
  readonly declaration: Buffer | null
  readonly backend: string
  readonly io: Io
}

/** All calls are shown, and the document may be on this machine like its backend. */
const SETTINGS = { REQUEST_LOG: 'all', GATEWAY_THREADS: '1' }

/** A busy machine takes a while. */
const START_MS_MAX = 120_000

export async function startDevService(options: DevOptions): Promise<DevService> {
  const api = await deriveApiName(options.document, options.file)
  const service = await startService({ args: ['--empty'], env: SETTINGS, startMsMax: START_MS_MAX })
  try {
    return await fill(api, service, options)
  } catch (cause) {
    await service.stop()
    throw cause
  }
}

async function fill(api: string, service: ServiceProcess, options: DevOptions): Promise<DevService> {
  const { document, declaration, backend, io } = options
  const { gatewayUrl, baseUrl, clientId, clientSecret } = service
  const env = { TOLLGATE_URL: baseUrl, TOLLGATE_CLIENT_ID: clientId, TOLLGATE_CLIENT_SECRET: clientSecret }
  const session = await openSession({ ...io, env })
  const client = createApiClient(session)
  const deploy = async (bytes: Buffer): Promise<number> => {
    const name = await deriveApiName(bytes, options.file)
    if (name !== api)
      throw new CommandFailed(`The document is now ${name}, another API than ${api}. Start again to serve it.`)
    return deployDocument(client, { api, document: bytes, backend })
  }
  const declare = async (bytes: Buffer): Promise<void> => {
    await post(client, '/v1/openslaspecs', { api, specification: bytes.toString('base64') })
  }
  await deploy(document)
  if (declaration !== null) await declare(declaration)
  const consumer = await enrol({
    platform: createPlatformClient(service),
    gatewayUrl,
    api,
    name: 'dev',
    kind: 'application',
  })
  const endpoints = await readEndpoints(client, consumer.subscription)
  return { api, gatewayUrl, baseUrl, consumer, session, endpoints, deploy, declare, stop: service.stop }
}

interface Deployment {
  readonly api: string
  readonly document: Buffer
  readonly backend: string
}

async function deployDocument(client: ApiClient, { api, document, backend }: Deployment): Promise<number> {
  const staged = { api, specification: document.toString('base64'), backend: { url: backend } }
  const { id } = (await post(client, '/v1/proxies', staged)) as { readonly id: string }
  const { revision } = (await post(client, `/v1/proxies/${id}/activate`)) as { readonly revision: number }
  return revision
}

async function readEndpoints(client: ApiClient, subscription: string): Promise<ReadonlyMap<string, string>> {
  const path = `/v1/subscriptions/${subscription}/operations?limit=500`
  const { items } = (await client.call({ method: 'GET', path })) as {
    readonly items: readonly { readonly operationId: string; readonly method: string; readonly path: string }[]
  }
  return new Map(items.map((operation) => [operation.operationId, `${operation.method} ${operation.path}`]))
}

function post(client: ApiClient, path: string, body?: object): Promise<unknown> {
  return client.call({ method: 'POST', path, ...(body !== undefined && { body: JSON.stringify(body) }) })
}
