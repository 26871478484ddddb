/** What the MCP endpoint refuses, what it records, and search mode; by messages that no SDK sends. */

import { describe, expect, it } from 'vitest'
import type { Authenticator } from '../../../src/gateway/authentication/authenticate.ts'
import { refuseUnverified } from '../../../src/gateway/authentication/credential-refusal.ts'
import {
  callerOf,
  openBackend,
  openTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '../../fixtures/test-gateway.ts'

const OK = { 200: { description: 'ok' } }
const item = (operationId: string, more: object = {}) => ({ get: { operationId, responses: OK, ...more } })
const KEYED = { 'content-type': 'application/json', 'x-api-key': 'key-s' }

async function openApi(
  paths: object = { '/a': item('a'), '/b': item('b') },
  mcp: unknown = true,
  options: Partial<TestGatewayOptions> = {},
) {
  const received: string[] = []
  const origin = await openBackend((incoming, response) => {
    received.push(`${incoming.method} ${incoming.url}`)
    if (incoming.url === '/endless') return void response.write('x'.repeat(3_000_000))
    if (incoming.url === '/silent') return
    response.setHeader('content-type', 'text/plain')
    response.end('fine')
  })
  const root = { 'x-tollgate-mcp': mcp }
  return { received, ...(await openTestGateway({ backend: { origin }, paths, root, ...options })) }
}

async function post({ port }: Pick<TestGateway, 'port'>, body: unknown, headers: object = KEYED, signal?: AbortSignal) {
  const response = await fetch(`http://127.0.0.1:${port}/things-v1/mcp`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as never }
}

const request = (method: string, params: object = {}, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params })
const call = (name: string, args: object = {}) => request('tools/call', { name, arguments: args })

describe('a message without a valid credential', () => {
  it('gets 401, and the address of the metadata if the API accepts tokens', async () => {
    const api = await openApi()
    const answer = await post(api, request('tools/list'), { 'content-type': 'application/json' })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(await post(api, request('tools/list'), { ...KEYED, 'x-api-key': 'none' })).toMatchObject({ status: 401 })
    expect((await api.recorded(2)).map(({ outcome }) => outcome)).toEqual(['credential_missing', 'credential_invalid'])
  })
})

describe('a malformed message', () => {
  it.each([
    ['broken JSON', '{', -32_700],
    ['deep JSON', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, -32_700],
    ['a batch', [request('ping')], -32_600],
    ['an empty batch', [], -32_600],
    ['a long id', request('ping', {}, 'x'.repeat(300)), -32_600],
    ['a fractional id', request('ping', {}, 1.5), -32_600],
    ['an id that is null', request('ping', {}, null), -32_600],
    ['another version of JSON-RPC', { id: 1, method: 'ping' }, -32_600],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, -32_600],
    ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, -32_600],
  ])('gets 400 for %s, and is recorded as an invalid payload', async (_, body, code) => {
    const api = await openApi()
    expect(await post(api, body)).toMatchObject({ status: 400, body: { error: { code } } })
    expect(await api.recorded(1)).toMatchObject([{ outcome: 'payload_invalid', status: 400 }])
  })

  it.each([
    ['an unknown method', request('tools/steal'), {}, 200, -32_601],
    ['an unknown revision', request('ping'), { 'mcp-protocol-version': '1999-01-01' }, 400, -32_022],
    ['an unknown tool', call('none'), {}, 200, -32_602],
    ['a cursor of nowhere', request('tools/list', { cursor: '1.99' }), {}, 200, -32_602],
    [
      'a stateless message without _meta',
      request('tools/list'),
      { 'mcp-protocol-version': '2026-07-28' },
      400,
      -32_602,
    ],
  ])('gets an error for %s', async (_, body, headers, status, code) => {
    const api = await openApi()
    expect(await post(api, body, { ...KEYED, ...headers })).toMatchObject({ status, body: { id: 1, error: { code } } })
  })

  it('gets 415, 405 and 403 for another media type or encoding, method and origin', async () => {
    const api = await openApi()
    expect((await post(api, '{}', { ...KEYED, 'content-type': 'text/plain' })).status).toBe(415)
    for (const [encoding, status] of [
      ['gzip', 415],
      ['gzip, identity', 415],
      ['Identity', 200],
    ] as const) {
      expect((await post(api, request('ping'), { ...KEYED, 'content-encoding': encoding })).status).toBe(status)
    }
    const url = `http://127.0.0.1:${api.port}/things-v1/mcp`
    const got = await fetch(url, { headers: { 'x-api-key': 'key-s' } })
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await post(api, request('ping'), { ...KEYED, origin: 'https://evil.example' })).status).toBe(403)
    expect((await post(api, request('ping'), { ...KEYED, origin: 'https://gateway.example' })).status).toBe(200)
  })
})

it('The GET with which a client asks for a stream is no refused call', async () => {
  const api = await openApi()
  const { status } = await fetch(`http://127.0.0.1:${api.port}/things-v1/mcp`, { headers: { 'x-api-key': 'key-s' } })
  expect(status).toBe(405)
  expect(await api.recorded(1)).toMatchObject([{ outcome: 'served', status: 405, flags: 0 }])
})

/** A minute that does not end. */
const nowMs = (): number => Date.UTC(2027, 0, 15, 12)

describe('messages that call no operation', () => {
  it('are limited per credential, and tool calls are not', async () => {
    const api = await openApi(undefined, true, { nowMs })
    for (let count = 0; count < 60; count++) expect((await post(api, request('ping'))).status).toBe(200)
    const refused = await post(api, request('ping'))
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await post(api, call('a'))).status).toBe(200)
    expect((await post(api, request('ping'), { ...KEYED, 'x-api-key': 'key-other' })).status).toBe(200)
    // Bit 1 of the flags: the backend was called.
    expect((await api.recorded(63)).filter(({ flags }) => (flags & 1) !== 0)).toHaveLength(1)
  })
})

describe('people who use the same client', () => {
  it('have limits of their own for messages that call no operation', async () => {
    const callers = new Map(['ada', 'grace'].map((person) => [person, { ...callerOf('s'), person }]))
    const authenticate: Authenticator['authenticate'] = (_, key = '') => callers.get(key) ?? refuseUnverified('unknown')
    const api = await openApi(undefined, true, { authenticator: { authenticate }, nowMs })
    const ping = async (person: string): Promise<number> =>
      (await post(api, request('ping'), { ...KEYED, 'x-api-key': person })).status
    for (let count = 0; count < 60; count++) expect(await ping('ada')).toBe(200)
    expect([await ping('ada'), await ping('grace')]).toEqual([429, 200])
  })
})

describe('a tool call', () => {
  it('whose response is endless is cut, and charged once', async () => {
    const api = await openApi({ '/endless': item('endless') })
    const { body } = await post(api, call('endless'))
    expect(body).toMatchObject({ result: { isError: true } })
    expect(await api.recorded(1)).toMatchObject([{ outcome: 'served', status: 200, flags: 1 }])
  })

  it('whose client disconnects is recorded once', async () => {
    const api = await openApi({ '/silent': item('silent') })
    const abort = new AbortController()
    const answer = post(api, call('silent'), KEYED, abort.signal).catch(() => 'aborted')
    while (api.received.length === 0) await new Promise((resolve) => setImmediate(resolve))
    abort.abort()
    expect(await answer).toBe('aborted')
    expect(await api.recorded(1)).toMatchObject([{ outcome: 'client_aborted', flags: 1 }])
  })

  it('is refused with the problem document if the backend is down', async () => {
    const { port, records } = await openTestGateway({
      backend: { origin: 'http://127.0.0.1:1' },
      paths: { '/a': item('a') },
      root: { 'x-tollgate-mcp': true },
    })
    const { status, body } = await post({ port }, call('a'))
    expect([status, JSON.stringify(body).includes('upstream_refused')]).toEqual([200, true])
    expect(records).toMatchObject([{ outcome: 'upstream_refused', status: 502 }])
  })
})

describe('search mode', () => {
  const paths = Object.fromEntries(
    Array.from({ length: 41 }, (_, index) => [`/o${index}`, item(`o${index}`, { summary: `Reads number ${index}` })]),
  )

  it('has three tools in place of more than 40, which find, describe and call an operation', async () => {
    const api = await openApi(paths)
    const { body: list } = await post(api, request('tools/list'))
    const { result } = list as { result: { tools: { name: string }[] } }
    expect(result.tools.map(({ name }) => name)).toEqual(['search_operations', 'describe_operation', 'call_operation'])
    const found = await post(api, call('search_operations', { query: 'number 17' }))
    expect(JSON.stringify(found.body)).toContain('\\"operation\\":\\"o17\\"')
    const described = await post(api, call('describe_operation', { operation: 'o17' }))
    expect(JSON.stringify(described.body)).toContain('inputSchema')
    const called = await post(api, call('call_operation', { operation: 'o17', arguments: {} }))
    expect(called.body).toMatchObject({ result: { content: [{ text: 'fine' }] } })
    expect(api.received).toEqual(['GET /o17'])
  })

  it('is chosen by the document', async () => {
    const api = await openApi({ '/a': item('a') }, { mode: 'search' })
    expect(JSON.stringify((await post(api, request('tools/list'))).body)).toContain('search_operations')
    const other = await openApi(paths, { mode: 'tools' })
    expect(JSON.stringify((await post(other, request('tools/list'))).body)).toContain('"name":"o40"')
  })
})
