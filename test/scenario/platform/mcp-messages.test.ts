/** Messages of a broken or hostile client to the MCP endpoint of the platform. */

import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { sendBody, sendMessage, type MessageAnswer } from '../../fixtures/platform-messages.ts'
import { BASE_URL, openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const METADATA = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`
const MESSAGES_MAX = 60
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

const outcomeOf = ({ status, error }: MessageAnswer): readonly unknown[] => [status, error['code']]
const recordsOf = ({ calls }: TestPlatform): string[] =>
  calls.map(({ channel, operationId, status, code }) => `${channel} ${operationId} ${status} ${code}`)

async function send(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const platform = await openTestPlatform()
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const answer = await sendBody(platform, platform.token('acme'), payload, headers)
  return { platform, answer }
}

describe('a message without a valid credential', () => {
  it('gets 401 with the address of the metadata of the endpoint', async () => {
    const platform = await openTestPlatform()
    const missing = await sendMessage(platform, null, 'tools/list')
    expect([missing.status, missing.headers['www-authenticate']]).toEqual([
      401,
      `Bearer resource_metadata="${METADATA}"`,
    ])
    const invalid = await sendMessage(platform, 'nothing', 'tools/list')
    expect([invalid.status, invalid.headers['www-authenticate']]).toEqual([
      401,
      `Bearer error="invalid_token", resource_metadata="${METADATA}"`,
    ])
    expect(recordsOf(platform)).toEqual(['mcp  401 credential_missing', 'mcp  401 credential_invalid'])
    const { statusCode } = await platform.server.app.inject({ method: 'GET', url: '/mcp' })
    expect(statusCode).toBe(401)
  })

  it('finds the authorization server in the metadata', async () => {
    const platform = await openTestPlatform()
    const { status, body } = await platform.send('GET', new URL(METADATA).pathname)
    expect([status, body['resource'], body['authorization_servers']]).toEqual([
      200,
      `${BASE_URL}/mcp`,
      ['https://gateway.example/platform-v1'],
    ])
  })
})

describe('a malformed message', () => {
  const many = Array.from({ length: 60_000 }, (_, index) => [`m${index}`, 1])
  const deep = `${'['.repeat(100)}${']'.repeat(100)}`

  it.each([
    ['no JSON', '{', 400, -32_700],
    ['an empty body', '', 400, -32_700],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, -32_700],
    ['a byte order mark', `\ufeff${JSON.stringify(list)}`, 400, -32_700],
    ['JSON of 100 levels', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`, 400, -32_700],
    ['JSON of 60,000 members', { ...list, params: Object.fromEntries(many) }, 400, -32_700],
    ['a repeated member', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32_700],
    ['a batch', [list, list], 400, -32_600],
    ['an empty batch', [], 400, -32_600],
    ['a text', '"ping"', 400, -32_600],
    ['no version', { id: 1, method: 'ping' }, 400, -32_600],
    ['a huge id', { ...list, id: 'x'.repeat(10_000) }, 400, -32_600],
    ['an id that is no integer', { ...list, id: 1.5 }, 400, -32_600],
    ['an object as id', { ...list, id: {} }, 400, -32_600],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, 400, -32_600],
    ['a huge method', { ...list, method: 'x'.repeat(10_000) }, 400, -32_600],
    ['a list as params', { ...list, params: [] }, 400, -32_600],
  ])('gets 400 with the error of JSON-RPC: %s', async (_, body, status, code) => {
    const { platform, answer } = await send(body)
    expect(outcomeOf(answer)).toEqual([status, code])
    expect(recordsOf(platform)).toEqual(['mcp  400 payload_invalid'])
  })

  it.each([
    ['a tool call without a name', { method: 'tools/call', params: {} }],
    ['a number as name', { method: 'tools/call', params: { name: 5 } }],
    ['a long name', { method: 'tools/call', params: { name: 'x'.repeat(1_000) } }],
    ['a long address', { method: 'resources/read', params: { uri: `tollgate://risks/${'x'.repeat(5_000)}` } }],
    ['a list as arguments', { method: 'tools/call', params: { name: 'list_consumers', arguments: [] } }],
    ['a text as arguments of an operation', callOf({ operation: 'listConsumers', arguments: 'x' })],
    ['an object as address', { method: 'resources/read', params: { uri: {} } }],
    [
      'a number as argument of a prompt',
      { method: 'prompts/get', params: { name: 'review_api', arguments: { api: 1 } } },
    ],
    ['no client', { method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } }],
    ['a text as _meta', { method: 'tools/list', params: { _meta: 'x' } }],
    ['an object as progress token', { method: 'tools/list', params: { _meta: { progressToken: {} } } }],
  ])('gets the error for invalid parameters: %s', async (_, message) => {
    const { platform, answer } = await send({ jsonrpc: '2.0', id: 1, ...message })
    expect(outcomeOf(answer)).toEqual([200, -32_602])
    expect(recordsOf(platform)).toEqual(['mcp  200 served'])
  })

  it('gets 413 above 2 MiB, and 415 for other types', async () => {
    const { platform, answer } = await send(' '.repeat(2 * 1024 * 1024 + 1))
    expect(answer.status).toBe(413)
    expect(recordsOf(platform)).toEqual(['mcp  413 payload_too_large'])
    expect((await send(list, { 'content-type': 'text/plain' })).answer.status).toBe(415)
    expect((await send(list, { 'content-encoding': 'gzip' })).answer.status).toBe(415)
  })

  function callOf(args: object) {
    return { method: 'tools/call', params: { name: 'call_operation', arguments: args } }
  }
})

describe('a message of one revision', () => {
  it.each([
    ['a method other than Mcp-Method', 'tools/list', {}, { 'mcp-method': 'tools/call' }],
    ['a tool other than Mcp-Name', 'tools/call', { name: 'list_consumers' }, { 'mcp-name': 'search_catalogue' }],
    [
      'a resource other than Mcp-Name',
      'resources/read',
      { uri: 'tollgate://risks/a' },
      { 'mcp-name': 'tollgate://risks/b' },
    ],
    ['a prompt other than Mcp-Name', 'prompts/get', { name: 'review_api' }, { 'mcp-name': 'who_uses_most' }],
    ['an invalid encoding of Mcp-Name', 'tools/call', { name: 'list_consumers' }, { 'mcp-name': '=?base64?!?=' }],
    ['a revision other than the header', 'tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }],
  ])('gets 400 for %s, and calls no operation', async (_, method, params, headers) => {
    const platform = await openTestPlatform()
    const answer = await sendMessage(platform, platform.token('acme'), method, params, { headers })
    expect(outcomeOf(answer)).toEqual([400, -32_020])
    expect(recordsOf(platform)).toEqual(['mcp  400 served'])
  })

  it('gets 400 for a revision that does not exist', async () => {
    const platform = await openTestPlatform()
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2099-01-01',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const body = JSON.stringify({ ...list, params: { _meta: meta } })
    const headers = { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' }
    expect(outcomeOf(await sendBody(platform, platform.token('acme'), body, headers))).toEqual([400, -32_022])
    const earlier = await sendBody(platform, platform.token('acme'), JSON.stringify(list), {
      'mcp-protocol-version': '1',
    })
    expect(earlier.status).toBe(400)
  })

  it('gets the error for unknown methods, with 404 in the stateless revision', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    for (const method of [
      'nothing',
      'subscriptions/listen',
      'completion/complete',
      'logging/setLevel',
      'constructor',
    ]) {
      const { status, error } = await sendMessage(platform, token, method)
      expect([method, status, error['code']]).toEqual([method, 404, -32_601])
    }
    const earlier = { revision: '2025-11-25' } as const
    expect(outcomeOf(await sendMessage(platform, token, 'nothing', {}, earlier))).toEqual([200, -32_601])
  })

  it('gets 202 for a notification, and no session for initialize', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const started = await sendMessage(platform, token, 'initialize', initialize, { revision: '2025-11-25' })
    expect(started.result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'tollgate' } })
    expect(started.headers).not.toHaveProperty('mcp-session-id')
    const notification = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(await sendBody(platform, token, notification)).toMatchObject({ status: 202, text: '' })
    expect(recordsOf(platform)).toEqual(['mcp  200 served', 'mcp  202 served'])
  })
})

describe('the endpoint', () => {
  it('accepts POST only', async () => {
    const platform = await openTestPlatform()
    const headers = { authorization: `Bearer ${platform.token('acme')}`, accept: 'text/event-stream' }
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      const { statusCode, headers: answered } = await platform.server.app.inject({ method, url: '/mcp', headers })
      expect([statusCode, answered['allow']]).toEqual([405, 'POST'])
    }
    // Clients ask for a stream by GET, which is no mistake.
    expect(recordsOf(platform)).toEqual(['mcp  405 served', ...Array<string>(5).fill('mcp  405 method_not_allowed')])
  })

  it.each([
    ['https://attacker.example', 403],
    ['null', 403],
    ['https://platform.example.attacker.test', 403],
    ['http://localhost.attacker.test', 403],
    [BASE_URL, 200],
    ['http://localhost:6274', 200],
    ['http://127.0.0.1', 200],
  ])('answers a page of %s with %s', async (origin, status) => {
    const { answer } = await send(list, { origin })
    expect(answer.status).toBe(status)
  })

  it('limits the messages of a credential that call no operation, whatever their fault is', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const kinds = [
      () => sendMessage(platform, token, 'tools/list'),
      () => sendBody(platform, token, '{'),
      () => sendMessage(platform, token, 'tools/call', { name: 'list_consumers' }, { headers: { 'mcp-method': 'x' } }),
      () => sendMessage(platform, token, 'tools/call', { name: 'nothing' }),
      () => sendMessage(platform, token, 'resources/list'),
    ]
    for (let count = 0; count < MESSAGES_MAX; count++)
      expect((await kinds[count % kinds.length]!()).status).not.toBe(429)
    for (const kind of kinds) {
      const { status, headers } = await kind()
      expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true])
    }
    expect((await sendMessage(platform, token, 'tools/call', { name: 'list_consumers' })).status).toBe(200)
    const others = [platform.token('other'), platform.token('acme', undefined, undefined, { person: 'usr_1' })]
    for (const other of others) expect((await sendMessage(platform, other, 'tools/list')).status).toBe(200)
    platform.clock.advanceSync(60_000)
    expect((await sendMessage(platform, token, 'tools/list')).status).toBe(200)
  })

  it('does not depend on the address of the client for its inner calls, and keeps its other calls apart', async () => {
    const platform = await openTestPlatform()
    const address = await platform.server.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = new URL(address) as unknown as AddressInfo
    const token = platform.token('acme')
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        index % 2 === 0
          ? sendMessage(platform, token, 'tools/call', { name: 'list_consumers' }).then(({ status }) => status)
          : get(Number(port), '/v1/consumers', token),
      ),
    )
    expect(new Set(answers)).toEqual(new Set([200]))
    const channels = Map.groupBy(recordsOf(platform), (record) => record)
    expect([...channels].map(([record, all]) => [record, all.length]).sort()).toEqual([
      ['http listConsumers 200 served', 10],
      ['mcp listConsumers 200 served', 10],
    ])
  })
})

function get(port: number, path: string, token: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    request({ port, path, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
      .once('error', reject)
      .end()
  })
}
