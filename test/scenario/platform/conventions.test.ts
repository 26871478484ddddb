import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type Answer, type TestPlatform } from '../../fixtures/test-platform.ts'

const errorsOf = ({ body }: Answer): unknown => body['errors']

async function makeConsumer(platform: TestPlatform, token: string, body: unknown): Promise<Answer> {
  return platform.send('POST', '/v1/consumers', { token, body })
}

async function sendRaw({ server: { app } }: TestPlatform, text: string): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.end(text)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

describe('a request body', () => {
  it.each([
    ['a member that is not declared', { name: 'a', kind: 'agent', 'x/~y': 1 }, '/x~1~0y'],
    ['a member that is missing', { kind: 'agent' }, '/name'],
    ['a number instead of a string', { name: 7, kind: 'agent' }, '/name'],
    ['null', null, ''],
    ['a list', [], ''],
    ['a name that is too long', { name: 'n'.repeat(129), kind: 'agent' }, '/name'],
    ['an empty name', { name: '', kind: 'agent' }, '/name'],
    ['a blank name', { name: ' \u00a0 ', kind: 'agent' }, '/name'],
    ['a line break in a name', { name: 'a\nb', kind: 'agent' }, '/name'],
    ['a NUL in a name', { name: 'a\u0000', kind: 'agent' }, '/name'],
    ['half of a surrogate pair', { name: '\ud800', kind: 'agent' }, '/name'],
    ['a value outside the enumeration', { name: 'a', kind: 'robot' }, '/kind'],
    ['a control character in a contact', { name: 'a', kind: 'agent', contact: '\u0085' }, '/contact'],
  ])('is refused with 400 and a pointer for %s', async (_, body, pointer) => {
    const platform = await openTestPlatform()
    const answer = await makeConsumer(platform, platform.token('acme'), body)

    expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    expect(errorsOf(answer)).toEqual([{ pointer, detail: expect.any(String) }])
    expect(answer.headers['content-type']).toMatch('application/problem+json')
  })

  it('may contain a name of 128 characters of any script', async () => {
    const platform = await openTestPlatform()
    const answer = await makeConsumer(platform, platform.token('acme'), { name: '𝒜'.repeat(128), kind: 'agent' })
    expect(answer.status).toBe(201)
  })

  it.each([
    ['truncated', '{"name":'],
    ['plain text', 'hello'],
    ['`__proto__` as a member', '{"name":"a","kind":"agent","__proto__":{"x":1}}'],
    ['deeply nested', '['.repeat(400_000)],
  ])('is refused with 400 if it is not acceptable JSON: %s', async (_, body) => {
    const platform = await openTestPlatform()
    const answer = await makeConsumer(platform, platform.token('acme'), body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    expect(answer.text.length).toBeLessThan(1_000)
  })

  it('with a long member name causes an error with the beginning of that name only', async () => {
    const platform = await openTestPlatform()
    const answer = await makeConsumer(platform, platform.token('acme'), { ['x'.repeat(500_000)]: 1 })
    expect(answer.status).toBe(400)
    expect(answer.text.length).toBeLessThan(1_000)
  })

  it('is refused with 413 above 1 MB, and above 15 MB for a document', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const answer = await makeConsumer(platform, token, { name: 'n'.repeat(1_100_000), kind: 'agent' })
    expect(answer).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })

    const specification = 'A'.repeat(2_000_000)
    const document = await platform.send('POST', '/v1/proxies', { token, body: { api: 'a-v1', specification } })
    expect(document).toMatchObject({ status: 400, body: { code: expect.not.stringMatching('payload_too_large') } })
    const tooLarge = await platform.send('POST', '/v1/proxies', { token, body: 'A'.repeat(15 * 1024 * 1024 + 1) })
    expect(tooLarge.status).toBe(413)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'multipart/form-data', 'nonsense'])(
    '415 for %s',
    async (type) => {
      const platform = await openTestPlatform()
      const headers = { 'content-type': type }
      const token = platform.token('acme')
      const answer = await platform.send('POST', '/v1/consumers', {
        token,
        headers,
        body: '{"name":"a","kind":"agent"}',
      })
      expect(answer).toMatchObject({ status: 415, body: { code: 'media_type_unsupported' } })
    },
  )

  it('is refused with 415 if it is compressed', async () => {
    const platform = await openTestPlatform()
    const headers = { 'content-encoding': 'gzip' }
    const answer = await platform.send('POST', '/v1/consumers', { token: platform.token('acme'), headers, body: '{}' })
    expect(answer).toMatchObject({ status: 415, body: { code: 'media_type_unsupported' } })
  })

  it('of an action must be missing, empty or an empty object', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const path = '/v1/proxies/prx_none/activate'
    const json = { 'content-type': 'application/json' }
    for (const sending of [{}, { headers: json }, { body: {} }]) {
      expect((await platform.send('POST', path, { token, ...sending })).status).toBe(404)
    }
    expect((await platform.send('POST', path, { token, body: { force: true } })).status).toBe(400)
  })
})

describe('a query', () => {
  it.each([
    'limit=0',
    'limit=501',
    'limit=1.5',
    'limit=ten',
    'limit=',
    'limit=1&limit=2',
    'kind=robot',
    'colour=a',
    'cursor=',
    'tenant=rival',
  ])('is refused with 400: ?%s', async (query) => {
    const platform = await openTestPlatform()
    const answer = await platform.send('GET', `/v1/consumers?${query}`, { token: platform.token('acme') })
    expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    expect(errorsOf(answer)).toEqual([{ pointer: `/${query.split('=', 1)[0]}`, detail: expect.any(String) }])
  })

  it.each(['x', 'AAAA', '%00', encodeURIComponent('../../etc'), Buffer.from('2 con_a').toString('base64url')])(
    '400 cursor_invalid for ?cursor=%s',
    async (cursor) => {
      const platform = await openTestPlatform()
      const answer = await platform.send('GET', `/v1/consumers?cursor=${cursor}`, { token: platform.token('acme') })
      expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    },
  )

  it('is refused with a parameter that the operation does not declare', async () => {
    const platform = await openTestPlatform()
    const answer = await platform.send('GET', '/v1/consumers/con_a?tenant=rival', { token: platform.token('acme') })
    expect(answer.status).toBe(400)
  })
})

describe('paths and methods', () => {
  it.each(['/v2', '/v1/', '/v1/consumer', '/v1/consumers/', '/v1/consumers/a/b', '//v1'])(
    '404 for %s',
    async (path) => {
      const platform = await openTestPlatform()
      const answer = await platform.send('GET', path, { token: platform.token('acme') })
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    },
  )

  it.each([
    ['DELETE', '/v1/consumers', 'POST, GET, HEAD'],
    ['PUT', '/v1/consumers/con_a', 'GET, HEAD, PATCH, DELETE'],
    ['GET', '/v1/proxies/prx_a/activate', 'POST'],
    ['HEAD', '/v1/events/subscribe', 'GET'],
    ['OPTIONS', '/v1', 'GET, HEAD'],
    ['PATCH', '/healthz?x=1', 'GET, HEAD'],
  ])('answer 405 with Allow for %s %s', async (method, path, allow) => {
    const platform = await openTestPlatform()
    const answer = await platform.send(method, path)
    expect(answer.status).toBe(405)
    expect(answer.headers['allow']).toBe(allow)
  })

  it('answer 400 for a path that cannot be decoded, and 404 for one that is too long', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    expect(await platform.send('GET', '/v1/consumers/%zz', { token })).toMatchObject({ status: 400 })
    expect((await platform.send('GET', `/v1/consumers/${'a'.repeat(300)}`, { token })).status).toBe(404)
    expect((await platform.send('GET', '/v1/consumers/%00', { token })).status).toBe(404)
  })

  it('answer HEAD like GET without the body, and record it', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const get = await platform.send('GET', '/v1/consumers', { token })
    const head = await platform.send('HEAD', '/v1/consumers', { token })
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
    expect(platform.calls.map(({ operationId }) => operationId)).toEqual(['listConsumers', 'listConsumers'])
    expect((await platform.send('HEAD', '/v1/consumers')).status).toBe(401)
  })

  it.each([
    ['GET / HTTP/9\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['POST /v1/consumers HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ])('answer invalid HTTP with a problem and close the connection', async (text, status) => {
    const answer = await sendRaw(await openTestPlatform(), text)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toMatch('application/problem+json')
  })

  it.each([
    ['/v1/consumers', 'a second one that is invalid', (token: string) => [token, 'none']],
    ['/v1/consumers', 'a first one that is invalid', (token: string) => ['none', token]],
    ['/mcp', 'the same one', (token: string) => [token, token]],
  ])('refuse two credentials at %s: %s', async (path, _, tokensOf) => {
    const platform = await openTestPlatform()
    const sent = tokensOf(platform.token('acme')).map((token) => `Authorization: Bearer ${token}\r\n`)
    const text = `GET ${path} HTTP/1.1\r\nHost: a\r\n${sent.join('')}Connection: close\r\n\r\n`
    const answer = await sendRaw(platform, text)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toMatch('payload_invalid')
  })
})

describe('a conditional request', () => {
  it('is answered 304 if the ETag is current, and 200 after a change', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { proxy } = await publishApi(platform, token)
    const path = `/v1/proxies/${proxy}`
    const { headers } = await platform.send('GET', path, { token })
    const tag = headers['etag'] ?? ''

    const known = await platform.send('GET', path, { token, headers: { 'if-none-match': `"other", W/${tag}` } })
    expect(known).toMatchObject({ status: 304, text: '' })
    expect(known.headers['etag']).toBe(tag)
    await platform.send('POST', '/v1/proxies', { token, body: { api: 'payments-v1', fromRevision: 1 } })
    expect((await platform.send('GET', path, { token, headers: { 'if-none-match': tag } })).status).toBe(200)
  })

  it('that changes a resource is answered 412 without an effect if the ETag is outdated', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { proxy } = await publishApi(platform, token)
    const path = `/v1/proxies/${proxy}`
    const before = (await platform.send('GET', path, { token })).headers['etag'] ?? ''
    await platform.send('POST', '/v1/proxies', { token, body: { api: 'payments-v1', fromRevision: 1 } })

    const late = await platform.send('POST', `${path}/activate`, { token, headers: { 'if-match': before } })
    expect(late).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    const now = await platform.send('GET', path, { token })
    expect(now.body).toMatchObject({ activeRevision: 1, stagingRevision: 2 })
    const headers = { 'if-match': now.headers['etag'] ?? '' }
    expect((await platform.send('POST', `${path}/activate`, { token, headers })).status).toBe(200)
  })
})

describe('service paths', () => {
  it('need no credential and leave no record', async () => {
    const platform = await openTestPlatform()
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json'])
      expect((await platform.send('GET', path)).status).toBe(200)
    expect(platform.calls).toEqual([])
  })

  it('answer 503 with the reason while the service is not ready', async () => {
    const platform = await openTestPlatform()
    platform.notReady = 'The spool cannot be written.'
    const answer = await platform.send('GET', '/readyz')
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable', detail: 'The spool cannot be written.' } })
    expect(answer.headers['retry-after']).toBe('1')
    expect((await platform.send('GET', '/healthz')).status).toBe(200)
  })

  it('show the metrics in the text format of Prometheus', async () => {
    const platform = await openTestPlatform()
    const answer = await platform.send('GET', '/metrics')
    expect(answer.headers['content-type']).toMatch('text/plain; version=0.0.4')
    expect(answer.text).toMatch('tollgate_risk_stream_readers 0')
  })
})
