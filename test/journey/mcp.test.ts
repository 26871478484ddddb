/** Agents call an API over MCP in the whole service: tools by scope, limits, metering by channel, and the switch in the policy. */

import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMcpClient } from '../fixtures/mcp-client.ts'
import { startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const API = 'orders-v1'
const MINUTE = 60_000
const MESSAGES = 150
let service: Service
let backend: LedgerBackend
let caller: Enrolled

const responses = { 200: { description: 'ok' } }
const scopes = { 'orders:read': 'reads', 'orders:write': 'writes' }
const document = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: {
    securitySchemes: {
      oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes } } },
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    },
  },
  security: [{ oauth: ['orders:read'] }, { key: [] }],
  paths: {
    '/list': { get: { operationId: 'list', responses } },
    '/few': { get: { operationId: 'few', responses } },
    '/write': { post: { operationId: 'write', security: [{ oauth: ['orders:write'] }], responses } },
  },
}
const declaration = {
  opensla: '1.0.0',
  limits: [{ name: 'few', operationIds: ['few'], totals: { month: 1 } }],
  resourceUnits: { default: 2 },
}

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, API, document, backend.url)
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: API, specification })
  caller = await enrol(service, API, { scopes: ['orders:read'] })
}, MINUTE)

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const endpoint = (): string => `${service.gatewayUrl}/${API}/mcp`
const itemsOf = async (path: string) => {
  const { items } = await service.platform.get<{ items: readonly { operation: string; channel: string }[] }>(path)
  return items.map(({ operation, channel }) => `${channel} ${operation}`)
}

describe('an API over MCP', () => {
  it('has an endpoint once the policy says so, with metadata of its own', async () => {
    const send = () => request(endpoint(), { method: 'POST', body: '{}' })
    expect((await send()).statusCode).toBe(404)
    await service.platform.put(`/v1/apis/${API}/policy`, { mcp: true })
    const { statusCode, headers } = await send()
    const metadata = `${service.gatewayUrl}/.well-known/oauth-protected-resource/${API}/mcp`
    expect([statusCode, headers['www-authenticate']]).toEqual([401, `Bearer resource_metadata="${metadata}"`])
    expect(await (await request(metadata)).body.json()).toMatchObject({
      resource: endpoint(),
      authorization_servers: [`${service.gatewayUrl}/${API}`],
    })
  })

  it('offers what the credential may call, and meters each call once', async () => {
    const client = await openMcpClient(endpoint(), caller.apiKey, '2026-07-28')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['list', 'few'])
    expect(await client.callTool({ name: 'list' })).toMatchObject({ isError: false })
    expect(await client.callTool({ name: 'few' })).toMatchObject({ isError: false })
    const limited = await client.callTool({ name: 'few' })
    expect(limited).toMatchObject({ isError: true })
    expect(JSON.stringify(limited.content)).toMatch(/rate_limited.*Retry after|Retry after.*rate_limited/)
    const forbidden = await client.callTool({ name: 'write' })
    expect(JSON.stringify(forbidden)).toContain('operation_forbidden')
    await (await request(`${service.gatewayUrl}/${API}/list`, { headers: { 'x-api-key': caller.apiKey } })).body.dump()

    const poll = { timeout: 20_000, interval: 200 }
    await expect
      .poll(async () => (await itemsOf(`/v1?api=${API}`)).sort(), poll)
      .toEqual(['http list', 'mcp few', 'mcp list'])
    await expect.poll(() => itemsOf(`/v1/requests?api=${API}&outcome=rate_limited`), poll).toEqual(['mcp few'])
    const summaries = await service.platform.get(`/v1/summaries?api=${API}&groupBy=api`)
    expect(summaries).toMatchObject({ items: [{ calls: 3, value: 6 }] })
  })

  it('limits the messages of a credential that call no operation over all threads', async () => {
    let answers = await pingInOneMinute()
    // The limit is per minute of the clock, so messages that were sent at its end show nothing.
    while (answers === null) answers = await pingInOneMinute()
    expect(answers.threads).toBe(2)
    expect(answers.statuses.toSorted()).toEqual([...Array(60).fill(200), ...Array(MESSAGES - 60).fill(429)])
  })
})

/** Sends messages of a new credential over connections of their own; null if they were sent in more than one minute. */
async function pingInOneMinute() {
  const { apiKey } = await enrol(service, API, { name: 'Pinger' })
  const minute = Math.floor(Date.now() / MINUTE)
  const agent = new Agent({ pipelining: 0, connections: MESSAGES })
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const answers = await Promise.all(
    Array.from({ length: MESSAGES }, async () => {
      const answer = await request(endpoint(), { method: 'POST', dispatcher: agent, headers, body })
      await answer.body.dump()
      // The first part of the id of a request is that of its thread.
      return { status: answer.statusCode, thread: String(answer.headers['x-request-id']).slice(0, 16) }
    }),
  )
  await agent.close()
  if (Math.floor(Date.now() / MINUTE) !== minute) return null
  return { statuses: answers.map(({ status }) => status), threads: new Set(answers.map(({ thread }) => thread)).size }
}
