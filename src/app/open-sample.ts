/**
 * The sample of a first start: an API with a declaration, a backend, and a consumer and an agent with a
 * subscription each. Uses the same commands as every client.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Consumers } from '../control/access/consumers.ts'
import type { Proxies } from '../control/publishing/proxies.ts'
import type { Specifications } from '../control/publishing/specifications.ts'
import type { Credentials } from '../control/access/credentials.ts'
import type { Subscriptions } from '../control/subscriptions/subscriptions.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { StartRefused } from '../foundation/runtime/start-refused.ts'
import type { SampleBackend } from './sample/backend.ts'
import { documentKind, type Author, type Registry } from '../storage/store/registry.ts'
import type { SampleFacts } from './onboarding/banner.ts'
import { SAMPLE_CALL } from './onboarding/first-steps.ts'

export interface SampleFiles {
  readonly openApi: Buffer
  readonly openSla: Buffer
}

export interface SampleBackendOptions {
  /** Whether this start creates the sample. */
  readonly isWanted: boolean
  readonly host: string
  readonly registry: Registry
  readonly log: Log
  readonly opened: Opened
}

export interface SampleOptions {
  readonly files: SampleFiles
  readonly backendUrl: string
  readonly registry: Registry
  readonly proxies: Proxies
  readonly specifications: Specifications
  readonly consumers: Consumers
  readonly subscriptions: Subscriptions
  readonly credentials: Credentials
  readonly author: Author
}

const FOLDER = join(import.meta.dirname, './sample')

/** Reads the sample before anything is written. Throws `StartRefused`. */
export function readSample(): SampleFiles {
  try {
    return {
      openApi: readFileSync(join(FOLDER, 'payments.openapi.yaml')),
      openSla: readFileSync(join(FOLDER, 'payments.opensla.yaml')),
    }
  } catch (cause) {
    throw new StartRefused(`the sample in ${FOLDER} cannot be read: ${String(cause)} (--empty starts without it)`)
  }
}

interface SampleBody {
  readonly backendUrl: string
  readonly subscription: string
}

const SAMPLE_KIND = documentKind<SampleBody>('sample', 'hidden')

/**
 * Opens the backend of the sample, if there is one: on the port of its deployment, or on a free one if this
 * start creates the sample. It opens before the gateway, so that it closes after it.
 */
export async function openSampleBackend(options: SampleBackendOptions): Promise<SampleBackend | null> {
  const { isWanted, host, registry, log, opened } = options
  const stored = await registry.get(SAMPLE_KIND, 'sample')
  if (stored === null && !isWanted) return null
  const port = stored === null ? 0 : Number(new URL(stored.body.backendUrl).port)
  try {
    const { startSampleBackend } = await import('./sample/backend.ts')
    const backend = await startSampleBackend({ host, port })
    opened('sample backend', () => backend.close())
    return backend
  } catch (cause) {
    if (stored === null) throw cause
    log.warn({ err: cause, port }, 'backend of the sample API cannot listen; calls of the API are answered 502')
    return null
  }
}

/** Creates the sample. Returns its facts for the banner. */
export async function createSample(options: SampleOptions): Promise<SampleFacts> {
  const { files, backendUrl, registry, proxies, specifications, consumers, subscriptions, credentials, author } =
    options
  const { api } = SAMPLE_CALL
  const proxy = await proxies.stage(author, {
    api,
    specification: files.openApi.toString('base64'),
    backend: { url: backendUrl },
  })
  await proxies.activate(author, proxy.id)
  await specifications.createOpenSla(author, { api, specification: files.openSla.toString('base64') })
  const shop = await consumers.create(author, { name: 'Sample shop', kind: 'application' })
  const agent = await consumers.create(author, { name: 'Sample agent', kind: 'agent' })
  const { id } = await subscriptions.create(author, { consumer: shop.id, api })
  await subscriptions.create(author, { consumer: agent.id, api })
  const body = { backendUrl, subscription: id }
  await registry.commit(author, 'sample.bring', [
    { kind: SAMPLE_KIND, id: 'sample', tenant: author.tenant, expected: 0, body },
  ])
  const { items } = await credentials.read(author, id)
  const client = items.find(({ type }) => type === 'OAuth2')
  return { api, clientId: client?.clientId ?? '', clientSecret: client?.clientSecret ?? '', path: SAMPLE_CALL.path }
}
