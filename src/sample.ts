/**
 * The sample of a first start: an API with a declaration, a backend behind it, a consumer and an agent
 * with a subscription each. Made through the same commands as everything else.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Consumers } from './catalogue/consumers.ts'
import type { Proxies } from './catalogue/proxies.ts'
import type { Specifications } from './catalogue/specifications.ts'
import type { Subscriptions } from './catalogue/subscriptions.ts'
import { Problem } from './domain/problem.ts'
import { readSpecification } from './governance/specification.ts'
import { parseDeclaration } from './opensla/declaration.ts'
import type { Log } from './runtime/log.ts'
import { StartRefused } from './runtime/start-refused.ts'
import { startSampleBackend } from './sample/backend.ts'
import type { Author, Registry } from './store/registry.ts'
import type { SampleFacts } from './banner.ts'

export interface SampleFiles {
  readonly api: string
  readonly openApi: Buffer
  readonly openSla: Buffer
}

export interface SampleOptions {
  /** Null: no sample is brought; one that was brought before gets its backend back. */
  readonly files: SampleFiles | null
  readonly host: string
  readonly log: Log
  readonly opened: (name: string, close: () => Promise<void>) => void
  readonly registry: Registry
  readonly proxies: Proxies
  readonly specifications: Specifications
  readonly consumers: Consumers
  readonly subscriptions: Subscriptions
  readonly author: Author
}

const FOLDER = join(import.meta.dirname, 'sample')
const SAMPLE_CALL = '/accounts'

/** Reads and judges the sample before anything is touched. Throws `StartRefused`. */
export async function readSample(): Promise<SampleFiles> {
  try {
    const openApi = readFileSync(join(FOLDER, 'payments.openapi.yaml'))
    const openSla = readFileSync(join(FOLDER, 'payments.opensla.yaml'))
    const { technicalName, operations } = await readSpecification(openApi)
    parseDeclaration(openSla, { technicalName, operationIds: operations.map(({ operationId }) => operationId) })
    return { api: technicalName, openApi, openSla }
  } catch (cause) {
    const why =
      cause instanceof Problem
        ? [cause.message, ...cause.errors.map(({ pointer, detail }) => `${pointer} ${detail}`)].join(' ')
        : String(cause)
    throw new StartRefused(`the sample in ${FOLDER} cannot be used: ${why} (--empty starts without it)`)
  }
}

/** What a person is told of the sample; null where none was brought now. */
export async function bringUpSample(options: SampleOptions): Promise<SampleFacts | null> {
  const { files, host, registry, log, opened } = options
  const stored = await registry.get<{ backendUrl: string }>('sample', 'sample')
  if (stored === null && files === null) return null
  const port = stored === null ? 0 : Number(new URL(stored.body.backendUrl).port)
  try {
    const backend = await startSampleBackend({ host, port })
    opened('sample backend', () => backend.close())
    return stored === null && files !== null ? await bring(options, files, backend.url) : null
  } catch (cause) {
    if (stored === null) throw cause
    log.warn({ err: cause, port }, 'the backend of the sample cannot listen; its API answers 502')
    return null
  }
}

async function bring(options: SampleOptions, files: SampleFiles, backendUrl: string): Promise<SampleFacts> {
  const { registry, proxies, specifications, consumers, subscriptions, author } = options
  const { api } = files
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
    { kind: 'sample', id: 'sample', tenant: author.tenant, expected: 0, body },
  ])
  const { items } = await subscriptions.credentials(author, id)
  const client = items.find(({ type }) => type === 'OAuth2')
  return { api, clientId: client?.clientId ?? '', clientSecret: client?.clientSecret ?? '', path: SAMPLE_CALL }
}
