/**
 * Agents that people authorise: two independent MCP clients find the authorization server of an API from its 401, and act in the
 * name of a person, as a client of a subscription, as one that publishes a metadata document, and as one that registers itself.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { selfSigned } from '../fixtures/test-certificates.ts'
import { buttonOf, createBrowser } from './browser.ts'
import { startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { openOfficialAgent, openSecondAgent, type AgentIdentity, type OpenAgent } from './mcp-agents.ts'
import { createService, publish, type Service } from './service.ts'
import { claimsOf, createConsumer, invite, PASSWORD } from './shared-client.ts'

const API = 'reports-v1'
const REDIRECT = 'http://127.0.0.1:50123/callback'
const READABLE = 60
const MINUTE = 60_000
const poll = { timeout: 20_000, interval: 200 }

const responses = { 200: { description: 'ok' } }
const scopes = { 'reports:read': 'reads', 'reports:write': 'writes' }
const document = {
  openapi: '3.1.0',
  info: { title: 'Reports', version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  'x-tollgate-mcp': { mode: 'tools' },
  components: {
    securitySchemes: { oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes } } } },
  },
  security: [{ oauth: ['reports:read'] }],
  paths: {
    ...Object.fromEntries(
      Array.from({ length: READABLE }, (_, n) => [`/reports/${n}`, { get: { operationId: `report${n}`, responses } }]),
    ),
    '/write': { post: { operationId: 'write', security: [{ oauth: ['reports:write'] }], responses } },
  },
}
const declaration = {
  opensla: '1.0.0',
  limits: [{ name: 'seldom', operationIds: ['report1'], totals: { month: 1 } }],
  resourceUnits: { default: 2 },
}

let folder: string
let service: Service
let backend: LedgerBackend
let documents: Server

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-agents-'))
  documents = await serveMetadataDocument()
  backend = await startLedgerBackend()
  service = await createService({
    isLocalhost: true,
    args: ['--empty'],
    env: {
      ALLOW_PRIVATE_ADDRESSES: 'clients',
      NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'),
      REQUEST_LOG: 'all',
      MCP_DYNAMIC_REGISTRATION: 'on',
    },
  })
  await service.start()
  await publish(service, API, document, backend.url)
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: API, specification })
}, MINUTE)

afterAll(async () => {
  documents.close()
  await service.remove()
  await backend.close()
  rmSync(folder, { recursive: true })
})

/** Serves the metadata document of a client by https, which the official client insists on. */
async function serveMetadataDocument(): Promise<Server> {
  const { key, cert } = selfSigned('127.0.0.1')
  writeFileSync(join(folder, 'cert.pem'), cert)
  const server = createServer({ key, cert }, (_, response) => {
    const members = { client_id: metadataUrl(), client_name: 'Reporter', redirect_uris: ['http://127.0.0.1/callback'] }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(members))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return server
}

const metadataUrl = (): string => `https://127.0.0.1:${(documents.address() as AddressInfo).port}/agent.json`
const apiUrl = (): string => `${service.gatewayUrl}/${API}`
const endpoint = (): string => `${apiUrl()}/mcp`

interface Case {
  readonly identity: AgentIdentity
  readonly person: string
  readonly consumer: string
  readonly username: string
  /** The party that calls are attributed to. */
  readonly agent: string
}

/** A public client of an agent: the agent acts for the person. */
async function registerAgent(): Promise<Case> {
  const { platform } = service
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name: 'Reporter', kind: 'agent' })
  const { id: subscription } = await platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    api: API,
    securityTypes: ['PKCE'],
    redirectUris: [REDIRECT],
    scopes: ['reports:read'],
  })
  const path = `/v1/subscriptions/${subscription}/credentials`
  const { items } = await platform.get<{ items: readonly { clientId: string }[] }>(path)
  const { id: person, username } = await invite(service)
  return { identity: { clientId: items[0]?.clientId ?? '' }, person, consumer, username, agent: consumer }
}

/** A client that is known by its metadata document: the person acts under the subscription of an own consumer. */
async function publishAgent(): Promise<Case> {
  const consumer = await createConsumer(service)
  await service.platform.post('/v1/subscriptions', { consumer, api: API, scopes: ['reports:read'] })
  const { id: person, username } = await invite(service, { role: 'consumer', consumers: [consumer] })
  return { identity: { metadataUrl: metadataUrl() }, person, consumer, username, agent: '' }
}

/** A client that registers itself: the person acts as through one with a metadata document. */
async function registerItself(): Promise<Case> {
  return { ...(await publishAgent()), identity: { registers: true } }
}

/** Signs in and consents in a browser. Returns the address that the browser is redirected to. */
async function authorise({ username }: Case, authorizationUrl: URL): Promise<URL> {
  expect(authorizationUrl.searchParams.get('code_challenge_method')).toBe('S256')
  const browser = createBrowser()
  const login = await browser.open(authorizationUrl.href)
  const asksOrganisation = login.html.includes('name="organisation"')
  const fields = { username, password: PASSWORD, ...(asksOrganisation && { organisation: 'default' }) }
  const consent = await browser.submit(login, fields)
  expect(consent.status).toBe(200)
  const isSelfRegistered = authorizationUrl.searchParams.get('client_id')?.startsWith('rcl_')
  expect(consent.html.includes('nobody has checked its name')).toBe(isSelfRegistered)
  const back = await browser.submit(consent, {}, buttonOf(consent, 'Allow'))
  return new URL(String(back.headers['location']))
}

type Items = { readonly items: readonly Readonly<Record<string, unknown>>[] }
const itemsOf = async (path: string): Promise<Items['items']> => (await service.platform.get<Items>(path)).items

describe.each<readonly [string, OpenAgent]>([
  ['the official client', openOfficialAgent],
  ['the second client', openSecondAgent],
])('%s', (_, open) => {
  it.each<readonly [string, () => Promise<Case>, 'endpoint' | 'API']>([
    ['that is registered', registerAgent, 'API'],
    ['that is registered', registerAgent, 'endpoint'],
    ['with a metadata document', publishAgent, 'endpoint'],
    ['that registers itself', registerItself, 'endpoint'],
  ])('%s acts for a person, within scopes and limits (%#)', { timeout: MINUTE }, async (_name, create, named) => {
    const subject = await create()
    const { consumer, person, agent } = subject
    const requested: URL[] = []
    const client = await open({
      url: endpoint(),
      client: subject.identity,
      redirectUri: REDIRECT,
      ...(named === 'API' && { resource: apiUrl() }),
      authorise: (url) => {
        requested.push(url)
        return authorise(subject, url)
      },
    })
    onTestFinished(() => client.close())
    expect(requested.map(({ searchParams }) => searchParams.get('resource'))).toEqual([
      named === 'API' ? apiUrl() : endpoint(),
    ])
    expect(claimsOf(client.token)).toMatchObject({
      aud: API,
      sub: person,
      ...(agent !== '' && { act: { sub: agent } }),
    })

    const pages = await client.pages()
    expect(pages.map(({ length }) => length)).toEqual([50, 10])
    expect(pages.flat()).not.toContain('write')
    expect(await client.call('report0')).toMatchObject({ isError: false })
    expect(await client.call('report1')).toMatchObject({ isError: false })
    const limited = await client.call('report1')
    expect([limited.isError, limited.text]).toEqual([true, expect.stringMatching(/rate_limited/)])
    expect(limited.text).toContain('Retry after')
    const forbidden = await client.call('write')
    expect([forbidden.isError, forbidden.text]).toEqual([true, expect.stringMatching(/operation_forbidden/)])

    const who = { customer: consumer, agent, onBehalfOf: person, channel: 'mcp' }
    const requests = async () => itemsOf(`/v1/requests?api=${API}&customer=${consumer}&outcome=rate_limited`)
    await expect.poll(requests, poll).toMatchObject([{ operation: 'report1', ...who }])
    const items = async () => itemsOf(`/v1?api=${API}&customer=${consumer}`)
    const billed = { customer: consumer, agent, channel: 'mcp', calls: 1, value: 2 }
    await expect.poll(items, poll).toMatchObject([billed, billed])
    const risks = async () => itemsOf(`/v1/risks?api=${API}&type=AuthFailure403&attributedTo=${consumer}`)
    await expect.poll(risks, poll).toMatchObject([
      {
        attributedTo: { id: consumer, ...(agent !== '' && { kind: 'agent', onBehalfOf: person }) },
        evidence: { channel: 'mcp', channels: { mcp: 1 } },
      },
    ])
  })
})
