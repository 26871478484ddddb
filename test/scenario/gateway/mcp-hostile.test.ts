/** Hostile tool arguments and messages: what reaches the backend is what was validated, and everything else is refused. */

import { describe, expect, it } from 'vitest'
import type { Authenticator, Refusal } from '../../../src/gateway/authentication/authenticate.ts'
import { refuseUnverified } from '../../../src/gateway/authentication/credential-refusal.ts'
import { callerOf, openBackend, openTestGateway, received, receivedUntil } from '../../fixtures/test-gateway.ts'

const OK = { 200: { description: 'ok' } }
const UPLOAD_LIMITS = { windowMs: 30, bytesPerSecondMin: 1_000, totalMs: 10_000 }
const TOO_LONG = 'x'.repeat(20_000)

const parameter = (name: string, place: string, schema: object, more: object = {}) => ({
  name,
  in: place,
  required: place === 'path',
  schema,
  ...more,
})
const text = { type: 'string' }
const texts = { type: 'array', items: text }
const body = (mediaType: string) => ({ content: { [mediaType]: { schema: { type: 'object' } } } })

const paths = {
  '/items': { get: { operationId: 'list', responses: OK } },
  '/items/{id}': {
    get: {
      operationId: 'get',
      parameters: [
        parameter('id', 'path', text),
        parameter('X-Role', 'header', { ...text, not: { const: 'admin' } }),
        parameter('c', 'cookie', text),
        parameter('q', 'query', text),
        parameter('n', 'query', { type: 'integer' }),
      ],
      responses: OK,
    },
  },
  '/items/{id}/secret': { get: { operationId: 'secret', parameters: [parameter('id', 'path', text)], responses: OK } },
  '/lists/{ids}': { get: { operationId: 'lists', parameters: [parameter('ids', 'path', texts)], responses: OK } },
  '/objects/{o}': {
    get: {
      operationId: 'objects',
      parameters: [parameter('o', 'path', { type: 'object' }, { explode: true })],
      responses: OK,
    },
  },
  '/bodies': { post: { operationId: 'body', requestBody: body('application/json'), responses: OK } },
  '/forms': { post: { operationId: 'form', requestBody: body('application/x-www-form-urlencoded'), responses: OK } },
}

/** The backend answers with the request that it received. */
async function openApi(options: object = {}) {
  const forwarded: string[] = []
  const origin = await openBackend((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { 'x-role': role = '', cookie = '', 'x-evil': evil = '' } = incoming.headers
      const extra = [role, cookie, evil].filter((value) => value !== '').join(' ')
      forwarded.push(`${incoming.method} ${incoming.url} ${extra}${Buffer.concat(chunks).toString()}`.trim())
      response.setHeader('content-type', 'text/plain')
      response.end('fine')
    })
  })
  const gateway = await openTestGateway({ backend: { origin }, paths, root: { 'x-tollgate-mcp': true }, ...options })
  return { forwarded, gateway }
}

const toMessage = (name: string, args: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`

const toRequest = (message: string, headers = ''): string =>
  `POST /things-v1/mcp HTTP/1.1\r\nHost: a\r\nX-Api-Key: key-s\r\nContent-Type: application/json\r\n${headers}` +
  `Content-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`

/** Sends the text of the arguments as it is. */
async function call({ gateway }: Awaited<ReturnType<typeof openApi>>, name: string, args: string) {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/things-v1/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'key-s' },
    body: toMessage(name, args),
  })
  return { status: response.status, body: await response.text() }
}

describe('an argument', () => {
  it.each([
    ['a slash', 'get', { id: 'a/b' }],
    ['the path of another operation', 'get', { id: 'a/secret' }],
    ['dots', 'get', { id: '..' }],
    ['a dot', 'get', { id: '.' }],
    ['dots and a slash', 'get', { id: '../items' }],
    ['a backslash', 'get', { id: 'a\\b' }],
    ['no text', 'get', { id: '' }],
    ['a null', 'get', { id: null }],
    ['a zero byte', 'get', { id: '\0' }],
    ['a line break', 'get', { id: '\r\n' }],
    ['half a surrogate pair', 'get', { id: '\ud800' }],
    ['too much text', 'get', { id: TOO_LONG }],
    ['an empty list', 'get', { id: [] }],
    ['a list of lists', 'get', { id: [['a']] }],
    ['a slash in a list', 'lists', { ids: ['a', 'b/c'] }],
    ['dots in a list', 'lists', { ids: ['..'] }],
    ['an empty item', 'lists', { ids: [''] }],
    ['a slash in a name', 'objects', { o: { '../x': 1 } }],
    ['dots in a member', 'objects', { o: { a: '../..' } }],
    ['no members', 'objects', { o: {} }],
  ])('with %s never leads to another path', async (_, name, args) => {
    const api = await openApi()
    const answer = await call(api, name, JSON.stringify(args))
    expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('"isError":true') })
    expect(answer.body).toContain('payload_invalid')
    expect(api.forwarded).toEqual([])
    expect(await api.gateway.recorded(1)).toMatchObject([{ outcome: 'payload_invalid', status: 400 }])
  })

  it.each([
    [{ id: '%2e%2e' }, 'GET /items/%252e%252e'],
    [{ id: 'a%2Fsecret' }, 'GET /items/a%252Fsecret'],
    [{ id: 'a?b#c;d' }, 'GET /items/a%3Fb%23c%3Bd'],
    [{ id: '{id}$&' }, 'GET /items/%7Bid%7D%24%26'],
    [{ id: 'ä\u202e' }, 'GET /items/%C3%A4%E2%80%AE'],
    [{ id: 'x', q: 'a&n=x\r\n' }, 'GET /items/x?q=a%26n%3Dx%0D%0A'],
    [{ id: 'x', c: 'a; admin=1' }, 'GET /items/x c=a%3B%20admin%3D1'],
  ])('of %j is one value', async (args, expected) => {
    const api = await openApi()
    expect((await call(api, 'get', JSON.stringify(args))).body).toContain('"isError":false')
    expect(api.forwarded).toEqual([expected])
  })

  it.each(['a\r\nX-Evil: 1', 'a\nX-Evil: 1', 'a\0', ' admin', 'admin ', '\tadmin', '☃', TOO_LONG, 'admin'])(
    'cannot be the header %j',
    async (role) => {
      const api = await openApi()
      const answer = await call(api, 'get', JSON.stringify({ id: 'x', 'X-Role': role }))
      expect(answer.body).toContain('payload_invalid')
      expect(api.forwarded).toEqual([])
    },
  )
})

it('an argument that is too long for a cookie is refused as any other', async () => {
  const api = await openApi()
  expect((await call(api, 'get', JSON.stringify({ id: 'x', c: TOO_LONG }))).body).toContain('payload_invalid')
  expect(await api.gateway.recorded(1)).toMatchObject([{ outcome: 'payload_invalid' }])
  expect(api.gateway.faults).toEqual([])
})

describe('a body', () => {
  it.each([
    ['{"id":12345678901234567890}', '{"id":12345678901234567890}'],
    ['{"id":-9007199254740993}', '{"id":-9007199254740993}'],
    ['{"n":1e999,"s":"1e9"}', '{"n":1e999,"s":"1e9"}'],
    ['{"n":0.10000000000000000555}', '{"n":0.10000000000000000555}'],
    ['{"n":1e-999}', '{"n":1e-999}'],
    ['{"n":9007199254740991, "m":1.50}', '{"n":9007199254740991,"m":1.5}'],
    ['{"__proto__":{"x":1},"constructor":1}', '{"__proto__":{"x":1},"constructor":1}'],
  ])('of %s keeps its values', async (value, expected) => {
    const api = await openApi()
    await call(api, 'body', `{"body":${value}}`)
    expect(api.forwarded).toEqual([`POST /bodies ${expected}`])
  })

  it('keeps numbers in forms and parameters', async () => {
    const api = await openApi()
    await call(api, 'form', '{"body":{"n":12345678901234567890,"o":{"x":1e999}}}')
    await call(api, 'get', '{"id":12345678901234567890,"n":98765432109876543210}')
    expect(api.forwarded).toEqual([
      'POST /forms n=12345678901234567890&o=%7B%22x%22%3A1e999%7D',
      'GET /items/12345678901234567890?n=98765432109876543210',
    ])
  })

  it.each(['{"body":{"a":1,"a":2}}', '{"body":{},"body":{}}', '{"body":{"a":1,"\\u0061":2}}'])(
    'of %s is refused, since it has two readings',
    async (args) => {
      const api = await openApi()
      expect(await call(api, 'body', args)).toMatchObject({ status: 400, body: expect.stringContaining('-32700') })
      expect(api.forwarded).toEqual([])
    },
  )
})

describe('a connection', () => {
  const answersIn = (received: string): string[] =>
    [...received.matchAll(/"id":(\d+),"(result|error)"/g)].map(([, id, kind]) => `${id} ${kind}`)
  const numbered = (id: number, message: string): string => toRequest(message.replace('"id":1', `"id":${id}`))

  it('carries pipelined messages, which are answered in order and recorded once each', async () => {
    const { gateway, forwarded } = await openApi()
    const socket = await gateway.open()
    const answer = receivedUntil(socket, /"id":5,/)
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    socket.write(
      numbered(1, toMessage('get', '{"id":"a"}')) +
        numbered(2, ping) +
        numbered(3, toMessage('none', '{}')) +
        numbered(4, toMessage('get', '{"id":".."}')) +
        numbered(5, toMessage('list', '{}')),
    )
    expect(answersIn(await answer)).toEqual(['1 result', '2 result', '3 error', '4 result', '5 result'])
    expect(forwarded.toSorted()).toEqual(['GET /items', 'GET /items/a'])
    const records = await gateway.recorded(5)
    expect(records.filter(({ flags }) => (flags & 1) !== 0)).toHaveLength(2)
    expect(gateway.inFlight()).toBe(0)
  })

  it.each([
    ['content-length', 'Content-Length: 1000', '{"jsonrpc":'],
    ['chunked', 'Transfer-Encoding: chunked', 'b\r\n{"jsonrpc":\r\n'],
  ])('with a message that arrives too slowly (%s) gets 408, and no tool is called', async (_, length, part) => {
    const { gateway, forwarded } = await openApi({ uploads: UPLOAD_LIMITS })
    const head = `POST /things-v1/mcp HTTP/1.1\r\nHost: a\r\nX-Api-Key: key-s\r\nContent-Type: application/json\r\n`
    expect(await gateway.raw(`${head}${length}\r\n\r\n${part}`)).toMatch(/^HTTP\/1.1 408 [^]*"code":"request_timeout"/)
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'request_timeout', subscription: 's', flags: 0 }])
    expect(forwarded).toEqual([])
  })

  it('that ends within a message is recorded once, and no tool is called', async () => {
    const { gateway, forwarded } = await openApi()
    const socket = await gateway.open()
    const end = received(socket)
    socket.write(toRequest(toMessage('list', '{}')).slice(0, -10), () => socket.destroy())
    await end
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'client_aborted', flags: 0 }])
    expect(forwarded).toEqual([])
    expect(gateway.inFlight()).toBe(0)
  })
})

describe('a credential that is revoked while a message arrives', () => {
  it.each([
    ['at once', (refusal: Refusal) => refusal],
    ['after a look-up', (refusal: Refusal) => Promise.resolve(refusal)],
  ])('is refused %s, and no tool is called', async (_, answer) => {
    const asked = Promise.withResolvers<void>()
    let isRevoked = false
    const authenticate: Authenticator['authenticate'] = () => {
      if (isRevoked) return answer(refuseUnverified('revoked'))
      asked.resolve()
      return callerOf('s')
    }
    const { gateway, forwarded } = await openApi({ authenticator: { authenticate } })
    const socket = await gateway.open()
    const answered = receivedUntil(socket, /credential_invalid/)
    const message = toRequest(toMessage('list', '{}'))
    socket.write(message.slice(0, -10))
    await asked.promise
    isRevoked = true
    socket.write(message.slice(-10))
    expect(await answered).toMatch(/^HTTP\/1.1 401 /)
    expect(forwarded).toEqual([])
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'credential_invalid' }])
  })
})

describe('the header Mcp-Name', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'list', arguments: {}, _meta: meta }
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const headers = 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nConnection: close\r\n'

  it.each([
    'Mcp-Name: get\r\n',
    'Mcp-Name: LIST\r\n',
    'Mcp-Name: list\r\nMcp-Name: get\r\n',
    'Mcp-Name: get\r\nMcp-Name: list\r\n',
    'Mcp-Name: =?base64?Z2V0?=\r\n',
    'Mcp-Name: =?base64?bGlzdA?=\r\n',
    '',
  ])('as %j does not agree with the message', async (sent) => {
    const { gateway, forwarded } = await openApi()
    expect(await gateway.raw(toRequest(message, headers + sent))).toMatch(/^HTTP\/1.1 400 [^]*-32020/)
    expect(forwarded).toEqual([])
  })

  it('agrees with the message as it is, and in base64', async () => {
    const { gateway, forwarded } = await openApi()
    for (const name of ['list', '=?base64?bGlzdA==?=']) {
      expect(await gateway.raw(toRequest(message, `${headers}Mcp-Name: ${name}\r\n`))).toMatch(/^HTTP\/1.1 200 /)
    }
    expect(forwarded).toEqual(['GET /items', 'GET /items'])
  })
})
