/** Agents use the platform over MCP in the whole service: sign-in, rights, tools, resources, prompts and records. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMcpClient } from '../fixtures/mcp-client.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { connectAsPerson, type LoggedIn } from './mcp-login.ts'
import { CLIENT, claimsOf, invite, LOOPBACK, PASSWORD } from './shared-client.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const MINUTE = 60_000
const PAGE_MAX = 50
let service: Service
let backend: LedgerBackend
let caller: Enrolled

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ isLocalhost: true, args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1')
}, MINUTE)

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const endpoint = (): string => `${service.baseUrl}/mcp`
const contentOf = (result: object): string => JSON.stringify(result)

async function logIn(role: string, revision: '2025-11-25' | '2026-07-28'): Promise<LoggedIn & { readonly id: string }> {
  const { id, username } = await invite(service, { role })
  const login = { url: endpoint(), clientId: CLIENT, redirectUri: LOOPBACK, username, password: PASSWORD, revision }
  return { id, ...(await connectAsPerson(login)) }
}

describe('a person with the official client', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'signs in for the endpoint and acts with the rights of the role (%s)',
    async (revision) => {
      const { client, authorizeUrl, callback, token, id } = await logIn('auditor', revision)
      expect(authorizeUrl.searchParams.get('resource')).toBe(endpoint())
      expect(authorizeUrl.searchParams.get('code_challenge_method')).toBe('S256')
      expect(callback.searchParams.get('iss')).toBe(`${service.gatewayUrl}/platform-v1`)
      expect(claimsOf(token)).toMatchObject({ sub: id, aud: 'platform-v1' })

      const { tools } = await client.listTools()
      const names = tools.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining(['search_catalogue', 'current_risks', 'call_operation']))
      expect(names).not.toContain('submit_programme')
      const apis = await client.callTool({ name: 'search_catalogue' })
      expect(apis).toMatchObject({ isError: false })
      expect(contentOf(apis)).toContain('ledger-v1')
      const args = { operation: 'createConsumer', arguments: { body: { name: 'Shop', kind: 'application' } } }
      const refused = await client.callTool({ name: 'call_operation', arguments: args })
      expect(refused).toMatchObject({ isError: true })
      expect(contentOf(refused)).toContain('operation_forbidden')
      const found = { operation: 'listUsers' }
      expect(await client.callTool({ name: 'describe_operation', arguments: found })).toMatchObject({ isError: false })
    },
  )

  it('reads several pages of resources, one of them, and a prompt', async () => {
    const specification = (version: number) =>
      Buffer.from(JSON.stringify({ opensla: '1.0.0', info: { version: `1.0.${version}` } })).toString('base64')
    for (let version = 0; version <= PAGE_MAX; version++) {
      await service.platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification: specification(version) })
    }
    const { client } = await logIn('admin', '2026-07-28')
    // The client follows the cursors itself; each page has at most 50 resources.
    const { resources } = await client.listResources()
    const uris = resources.map(({ uri }) => uri)
    expect(new Set(uris).size).toBe(uris.length)
    const declarations = uris.filter((uri) => uri.startsWith('tollgate://declarations/'))
    expect(declarations.length).toBeGreaterThan(PAGE_MAX)
    const read = await client.readResource({ uri: declarations[0] ?? '' })
    expect(contentOf(read)).toContain('opensla')
    await expect(client.readResource({ uri: 'tollgate://declarations/none' })).rejects.toThrow(
      /There is no openslaspec none/,
    )
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ name }) => name)).toEqual(['specifications', 'declarations', 'risks'])
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('why_did_my_call_fail')
    const prompt = await client.getPrompt({ name: 'why_did_my_call_fail', arguments: { request_id: 'abc' } })
    expect(contentOf(prompt)).toContain('Explain the call abc')
  })

  it('learns why a call was refused, and who uses most', async () => {
    const send = (query: string) =>
      request(`${service.gatewayUrl}/ledger-v1/entries?n=${query}`, { headers: { 'x-api-key': caller.apiKey } })
    const { headers, body } = await send('1')
    await body.dump()
    const { client } = await logIn('admin', '2025-11-25')
    const explain = () =>
      client.callTool({ name: 'explain_call', arguments: { id: String(headers['x-request-id']) } }).then(contentOf)
    const poll = { timeout: 20_000, interval: 200 }
    await expect.poll(explain, poll).toContain('listEntries')
    const totals = () => client.callTool({ name: 'usage_totals', arguments: { groupBy: 'customer' } }).then(contentOf)
    await expect.poll(totals, poll).toContain(caller.consumer)
  })
})

describe('an agent with a credential of its own', () => {
  it('has each call in the request log once, with its channel, and other messages without units', async () => {
    const robot = await enrol(service, 'platform-v1', { name: 'Robot', kind: 'agent', scopes: ['apis:read'] })
    const client = await openMcpClient(endpoint(), robot.apiKey, '2026-07-28')
    await client.listTools()
    await client.callTool({ name: 'search_catalogue' })
    await client.callTool({ name: 'search_catalogue', arguments: { state: 'Active' } })
    expect(await client.callTool({ name: 'current_risks' })).toMatchObject({ isError: true })
    const logged = async () => {
      type Logged = { operation: string; channel: string; outcome: string; resourceUnits: number }
      const path = `/v1/requests?api=platform-v1&customer=${robot.consumer}`
      const { items } = await service.platform.get<{ items: readonly Logged[] }>(path)
      return items.map(({ operation, channel, outcome }) => `${channel} ${operation} ${outcome}`).sort()
    }
    await expect
      .poll(logged, { timeout: 20_000, interval: 200 })
      .toEqual([
        'mcp  served',
        'mcp  served',
        'mcp listApis served',
        'mcp listApis served',
        'mcp listRisks operation_forbidden',
      ])
    const usage = () =>
      service.platform.get<{ items: readonly { operation: string; channel: string; calls: number }[] }>(
        `/v1?api=platform-v1&customer=${robot.consumer}`,
      )
    await expect.poll(async () => (await usage()).items.length, { timeout: 30_000, interval: 200 }).toBeGreaterThan(0)
    const { items } = await usage()
    expect(new Set(items.map(({ operation, channel }) => `${channel} ${operation}`))).toEqual(new Set(['mcp listApis']))
  })

  it('cannot use a token or a key of another API', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const send = async (credential: Record<string, string>) => {
      const answer = await request(endpoint(), { method: 'POST', headers: { ...headers, ...credential }, body })
      const { code } = (await answer.body.json()) as { code: string }
      return [answer.statusCode, code]
    }
    expect(await send({ authorization: `Bearer ${await caller.token()}` })).toEqual([401, 'credential_invalid'])
    expect(await send({ 'x-api-key': caller.apiKey })).toEqual([403, 'subscription_required'])
  })

  it('has its revoked credential refused at the next message', async () => {
    const robot = await enrol(service, 'platform-v1', { name: 'Robot', kind: 'agent', scopes: ['apis:read'] })
    const client = await openMcpClient(endpoint(), robot.apiKey, '2026-07-28')
    expect(await client.callTool({ name: 'search_catalogue' })).toMatchObject({ isError: false })
    await service.platform.post(`/v1/subscriptions/${robot.subscription}/cancel`)
    await expect(client.callTool({ name: 'search_catalogue' })).rejects.toThrow()
  })

  it('leaves no error in the log, whatever it sends', async () => {
    const headers = { 'x-api-key': caller.apiKey, 'content-type': 'application/json', accept: 'application/json' }
    for (const body of ['{', '[]', '[[[', '{"jsonrpc":"2.0","id":{},"method":"x"}', `"${'x'.repeat(1_000_000)}"`]) {
      const answer = await request(endpoint(), { method: 'POST', headers, body })
      await answer.body.dump()
      expect(answer.statusCode).toBeLessThan(500)
    }
    expect(service.errors() + service.output()).not.toMatch(/"level":"(?:error|fatal)"/)
  })
})
