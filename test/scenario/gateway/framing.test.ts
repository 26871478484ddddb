/** The gateway refuses messages that two implementations could read differently: framing, hosts, pipelines, interim responses, headers. */

import { describe, expect, it } from 'vitest'
import {
  LOOP_NAME,
  openBackend,
  openRawBackend,
  openTestGateway,
  PATHS,
  receivedUntil,
} from '../../fixtures/test-gateway.ts'

const open = (headers = '', version = '1.1') => `GET /things-v1/open HTTP/${version}\r\nHost: a\r\n${headers}\r\n`
const post = (headers: string, body = '') =>
  `POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n${headers}\r\n\r\n${body}`
const CLOSE = 'Connection: close\r\n'
const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

/** Opens a backend that returns the request that it received. */
async function openEcho() {
  return openBackend((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk) => (body += chunk))
    incoming.on('end', () =>
      response.end(JSON.stringify({ headers: incoming.headers, raw: incoming.rawHeaders, body })),
    )
  })
}

describe('a request with ambiguous framing or host', () => {
  it.each([
    ['with two hosts', 'GET /things-v1/open HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', '400'],
    ['with two equal hosts', 'GET /things-v1/open HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', '400'],
    ['with an empty host', 'GET /things-v1/open HTTP/1.1\r\nHost:\r\n\r\n', '400'],
    ['without a host', 'GET /things-v1/open HTTP/1.1\r\n\r\n', '400'],
    ['with a path in its host', 'GET /things-v1/open HTTP/1.1\r\nHost: a/b\r\n\r\n', '400'],
    ['with credentials in its host', 'GET /things-v1/open HTTP/1.1\r\nHost: user@a\r\n\r\n', '400'],
    ['with a space in its host', 'GET /things-v1/open HTTP/1.1\r\nHost: a b\r\n\r\n', '400'],
    ['with a port that is not a number', 'GET /things-v1/open HTTP/1.1\r\nHost: a:http\r\n\r\n', '400'],
    ['to an unknown API, with two hosts', 'GET /other-v1/open HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', '400'],
    ['with the coding gzip', post('Transfer-Encoding: gzip'), '501'],
    ['with the codings gzip, chunked', post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'), '501'],
    ['with the codings chunked, gzip', post('Transfer-Encoding: chunked, gzip', '0\r\n\r\n'), '501'],
    ['with the coding identity', post('Transfer-Encoding: identity'), '501'],
    ['in chunks with HTTP/1.0', post('Transfer-Encoding: chunked', '0\r\n\r\n').replace('1.1', '1.0'), '400'],
    ['with a length of 010', post('Content-Length: 010', '0123456789'), '400'],
    ['with a length of 00', post('Content-Length: 00'), '400'],
    ['with a length beyond 2^53', post('Content-Length: 9007199254740993'), '400'],
    ['of HTTP/2.0', open('', '2.0'), '505'],
    ['of HTTP/0.9', open('', '0.9'), '505'],
    ['of HTTP/0.9 without a version', 'GET /things-v1/open\r\n\r\n', '505'],
    ['of HTTP/1.2', open('', '1.2'), '505'],
    ['that starts HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '505'],
  ])('(%s) is refused once, and no later request on its connection is served', async (_, text, status) => {
    let calls = 0
    const origin = await openBackend((_, response) => {
      calls++
      response.end()
    })
    const gateway = await openTestGateway({ backend: { origin } })
    expect(statusesIn(await gateway.raw(text + open()))).toEqual([status])
    expect(calls).toBe(0)
    expect(gateway.counts.size).toBe(1)
    expect(gateway.inFlight()).toBe(0)
    expect(gateway.records).toEqual([])
  })

  it.each(['a', 'A.example:8080', '127.0.0.1', '[::1]:80', 'a_b', '%41', 'a:'])(
    'does not include a request with the valid host %s',
    async (host) => {
      const origin = await openEcho()
      const gateway = await openTestGateway({ backend: { origin } })
      const text = `GET /things-v1/open HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      expect(statusesIn(await gateway.raw(text))).toEqual(['200'])
    },
  )
})

describe('an unknown expectation', () => {
  it('is ignored, with and without 100-continue', async () => {
    const gateway = await openTestGateway({ backend: { origin: await openEcho() } })
    for (const expectation of ['other', 'other=1', '100-continue, other']) {
      const text = await gateway.raw(post(`${CLOSE}Expect: ${expectation}\r\nContent-Length: 5`, 'hello'))
      expect(statusesIn(text).at(-1)).toBe('200')
      expect(text).toContain('"body":"hello"')
      expect(text).not.toContain('expect')
    }
    expect(gateway.records).toHaveLength(3)
  })
})

describe('a client that disconnects', () => {
  it.each([
    ['within its body', 'POST', 'Content-Length: 10\r\n\r\nbegun'],
    ['before the response', 'GET', '\r\n'],
  ])('%s is not counted as malformed', async (_, method, rest) => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<void>()
    const origin = await openBackend(() => reached())
    const gateway = await openTestGateway({ backend: { origin } })
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      const socket = await gateway.open()
      const type = 'Content-Type: application/octet-stream\r\n'
      socket.write(`${open(CLOSE)}`)
      await isReached
      const other = await gateway.open()
      other.write(`${method} /things-v1/open HTTP/1.1\r\nHost: a\r\n${type}${rest}`, () => other[leave]())
      socket[leave]()
    }
    await gateway.recorded(4)
    expect([...gateway.counts]).toEqual([])
  })
})

describe('a pipeline', () => {
  it.each([
    ['garbage', 'this is not HTTP\r\n\r\n'],
    ['a bad length', post('Content-Length: -1')],
    ['two hosts', 'GET /things-v1/open HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ])('whose second request is %s gets the response to the first, then one refusal', async (_, bad) => {
    const { promise: reached, resolve: reach } = Promise.withResolvers<() => void>()
    const origin = await openBackend((_, response) => reach(() => response.end('first')))
    const gateway = await openTestGateway({ backend: { origin } })
    const answer = gateway.raw(open() + bad + open())
    const finish = await reached
    finish()
    const text = await answer
    expect(statusesIn(text)).toEqual(['200', '400'])
    expect(text.indexOf('first')).toBeLessThan(text.indexOf('400 Bad'))
  })

  it('gets no refusal within the body of a response that is being sent', async () => {
    const origin = await openBackend((_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('begun')
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    let text = ''
    socket.on('data', (chunk) => (text += chunk))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const begun = receivedUntil(socket, /begun/)
    socket.write(open())
    await begun
    socket.write('garbage\r\n\r\nmore garbage\r\n\r\n')
    await closed
    expect(statusesIn(text)).toEqual(['200'])
    expect(text.endsWith('begun')).toBe(true)
  })

  it('gets one 400 for a malformed body of its only request', async () => {
    const origin = await openEcho()
    const gateway = await openTestGateway({ backend: { origin } })
    const text = await gateway.raw(`${post('Transfer-Encoding: chunked')}zz\r\nhello\r\nyy\r\n`)
    expect(statusesIn(text)).toEqual(['400'])
    expect(gateway.inFlight()).toBe(0)
  })
})

describe('a response of a backend', () => {
  const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const answering = (text: string) => openRawBackend((socket) => socket.on('data', () => socket.write(text, 'latin1')))

  it.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['100 Continue with headers', 'HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n'],
    ['three times 100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3)],
    ['102 and 103', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'],
  ])('may follow %s, and its connection is used again', async (_, interim) => {
    const gateway = await openTestGateway({ backend: { origin: await answering(interim + ok), connections: 2 } })
    for (let index = 0; index < 3; index++) {
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nok$/)
    }
    expect(gateway.revision.backend?.gate.hasFailed).toBe(false)
  })

  it.each(['gzip', 'gzip, chunked', 'identity', 'chunked, chunked'])(
    'with the transfer coding %s becomes 502 upstream_broken',
    async (coding) => {
      const origin = await answering(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`)
      const gateway = await openTestGateway({ backend: { origin } })
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 502 [^]*upstream_broken/)
    },
  )

  it.each(['02', '0x2', '+2', '2.0', '2, 2', '2\r\nContent-Length: 2'])(
    'with the length %s becomes 502 upstream_broken',
    async (length) => {
      const origin = await answering(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nok`)
      const gateway = await openTestGateway({ backend: { origin } })
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 502 [^]*upstream_broken/)
    },
  )

  it('loses the headers that its Connection header names, except for the length', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop, Content-Length\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 2\r\n\r\nok',
    )
    const gateway = await openTestGateway({ backend: { origin } })
    const text = await gateway.raw(open(CLOSE))
    expect(text).not.toMatch(/x-hop/i)
    expect(text).toMatch(/x-end: 2/i)
    expect(text).toMatch(/content-length: 2/i)
  })

  it('loses its length if it is a 204', async () => {
    const gateway = await openTestGateway({
      backend: { origin: await answering('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n') },
    })
    const text = await gateway.raw(open(CLOSE))
    expect(text).toMatch(/^HTTP\/1.1 204 /)
    expect(text).not.toMatch(/content-length|transfer-encoding/i)
  })

  it('may contain a length as a trailer, and its connection is used again', async () => {
    let connections = 0
    const origin = await openRawBackend((socket) => {
      connections++
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 7\r\n\r\n'),
      )
    })
    const gateway = await openTestGateway({ backend: { origin } })
    for (let index = 0; index < 3; index++) {
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nok$/)
    }
    expect(connections).toBe(1)
  })

  it('with both lengths in its head becomes 502', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    )
    const gateway = await openTestGateway({ backend: { origin } })
    expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 502 /)
  })
})

describe('a request to a backend', () => {
  async function echoed(text: string, options: { paths?: object; root?: object } = {}) {
    const gateway = await openTestGateway({ backend: { origin: await openEcho() }, ...options })
    const answer = await gateway.raw(text)
    const json = answer.slice(answer.indexOf('\r\n\r\n') + 4)
    return { answer, gateway, ...(JSON.parse(json) as { headers: Record<string, string>; body: string }) }
  }

  it('contains no header that becomes a reserved one if underscores are read as dashes', async () => {
    const names = [
      'Content_Length',
      'content_type',
      'Content_Encoding',
      'Transfer_Encoding',
      'X_Consumer_Id',
      'X-Consumer_Id',
    ]
    names.push(
      'Host_',
      'HOST',
      'X_HTTP_Method_Override',
      'X_Forwarded_For',
      'Authorization_',
      'x_api_key',
      'X_RU_Limit',
      'CDN_Loop',
      'Proxy_Authorization',
    )
    const sent = names.filter((name) => name !== 'HOST').map((name) => `${name}: 1\r\n`)
    const { headers } = await echoed(open(sent.join('') + 'X_Mine: kept\r\n' + CLOSE))
    expect(Object.keys(headers).filter((name) => name.includes('_'))).toEqual(['host_', 'authorization_', 'x_mine'])
  })

  it('keeps the validated headers even if Connection names them', async () => {
    const paths = {
      '/open': {
        post: {
          operationId: 'make',
          security: [],
          parameters: [{ name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } }],
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
          responses: { 200: { description: 'ok' } },
        },
      },
    }
    const { headers } = await echoed(
      'POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Tenant: t\r\nX-Hop: 1\r\n' +
        'Connection: close, Content-Type, Content-Length, Host, X-Tenant, X-Hop\r\n\r\n{}',
      { paths },
    )
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '2', 'x-tenant': 't' })
    expect(headers['x-hop']).toBeUndefined()
    expect(headers['host']).toBeDefined()
  })

  it.each(['From', 'User-Agent', 'Referer', 'Max-Forwards', 'If-Modified-Since', 'Age', 'ETag', 'Location', 'X-Other'])(
    'does not contain a second %s that the operation would not accept',
    async (name) => {
      const paths = {
        '/open': {
          get: {
            operationId: 'open',
            security: [],
            parameters: [{ name, in: 'header', schema: { type: 'string', maxLength: 3 } }],
            responses: { 200: { description: 'ok' } },
          },
        },
      }
      const gateway = await openTestGateway({ backend: { origin: await openEcho() }, paths })
      expect(await gateway.raw(open(`${name}: one\r\n${CLOSE}`))).toMatch(/^HTTP\/1.1 200 /)
      const twice = await gateway.raw(open(`${name}: one\r\n${name}: too long\r\n${CLOSE}`))
      expect(twice).toMatch(/^HTTP\/1.1 400 [^]*payload_invalid/)
    },
  )

  const OVERRIDES = ['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method', 'X-Original-URL', 'X-Rewrite-URL']
  const overriding = open(OVERRIDES.map((name) => `${name}: DELETE\r\n`).join('') + CLOSE)

  it('contains no overrides of the method or the path', async () => {
    const { headers } = await echoed(overriding)
    expect(OVERRIDES.filter((name) => name.toLowerCase() in headers)).toEqual([])
  })

  it('contains the overrides that x-tollgate-pass-headers lists, for the document or for an operation', async () => {
    const document = await echoed(overriding, { root: { 'x-tollgate-pass-headers': ['X-HTTP-Method-Override'] } })
    expect(OVERRIDES.filter((name) => name.toLowerCase() in document.headers)).toEqual(['X-HTTP-Method-Override'])
    const get = { ...PATHS['/open'].get, 'x-tollgate-pass-headers': ['x-original-url'] }
    const operation = await echoed(overriding, { paths: { '/open': { get } } })
    expect(OVERRIDES.filter((name) => name.toLowerCase() in operation.headers)).toEqual(['X-Original-URL'])
  })

  it.each(['GET', 'OPTIONS'])(
    'has no body if it is a %s that declares none; the drop is counted, and the connection stays usable',
    async (method) => {
      const paths = { '/open': { [method.toLowerCase()]: PATHS['/open'].get } }
      const bodied = `${method} /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello`
      const gateway = await openTestGateway({ backend: { origin: await openEcho() }, paths })
      const text = await gateway.raw(bodied + bodied.replace('Host', `${CLOSE}Host`))
      expect(statusesIn(text)).toEqual(['200', '200'])
      expect(text).toContain('"body":""')
      expect(text).not.toContain('"content-length"')
      expect(gateway.counts.get('body_dropped')).toBe(2)
    },
  )

  it('has a body only if the body parses as JSON, even for the schema {}', async () => {
    const paths = {
      '/open': {
        post: {
          operationId: 'make',
          security: [],
          requestBody: { content: { 'application/json': { schema: {} } } },
          responses: { 200: { description: 'ok' } },
        },
      },
    }
    const gateway = await openTestGateway({ backend: { origin: await openEcho() }, paths })
    const send = (body: string) =>
      gateway.raw(
        `POST /things-v1/open HTTP/1.1\r\nHost: a\r\n${CLOSE}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    expect(await send('{"a":')).toMatch(/^HTTP\/1.1 400 [^]*payload_invalid/)
    expect(await send('[1]')).toMatch(/^HTTP\/1.1 200 /)
  })

  it('names the gateway last in Via and CDN-Loop', async () => {
    const { headers } = await echoed(open(`Via: 1.0 fred\r\nCDN-Loop: other\r\n${CLOSE}`))
    expect(headers).toMatchObject({ via: `1.0 fred, 1.1 ${LOOP_NAME}`, 'cdn-loop': `other, ${LOOP_NAME}` })
  })

  it.each([`Via: 1.1 ${LOOP_NAME}`, `Via: 1.0 fred\r\nVia: 1.1 ${LOOP_NAME}`, `CDN-Loop: other, ${LOOP_NAME}`])(
    'is not sent for a call that has passed through the gateway before, which gets 508 (%s)',
    async (header) => {
      const gateway = await openTestGateway({ backend: { origin: await openEcho() } })
      expect(await gateway.raw(open(`${header}\r\n${CLOSE}`))).toMatch(/^HTTP\/1.1 508 [^]*loop_detected/)
      expect(gateway.records).toMatchObject([{ outcome: 'loop_detected', status: 508 }])
    },
  )
})

describe('100 Continue', () => {
  const expecting = (path: string, key = '') =>
    `POST /things-v1/${path} HTTP/1.1\r\nHost: a\r\n${key}Content-Type: application/octet-stream\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`

  it('is not sent before the credential is verified, and the connection is closed', async () => {
    const gateway = await openTestGateway({ backend: { origin: await openEcho() } })
    for (const key of ['', 'x-api-key: wrong\r\n']) {
      expect(statusesIn(await gateway.raw(expecting('keyed', key)))).toEqual(['401'])
    }
  })

  it('is sent once, when the gateway needs the body', async () => {
    const gateway = await openTestGateway({ backend: { origin: await openEcho() } })
    const socket = await gateway.open()
    const wanted = receivedUntil(socket, /100 Continue\r\n\r\n/)
    const answered = receivedUntil(socket, /"body":"hello"/)
    socket.write(expecting('keyed', 'x-api-key: key-a\r\n'))
    await wanted
    socket.write('hello')
    expect(statusesIn(await answered)).toEqual(['100', '200'])
  })

  it.each([
    ['at once, which closes the connection', (answer: () => void) => answer(), ['404']],
    ['later', (answer: () => void) => setImmediate(answer), ['100', '404']],
  ])('causes no fault if an OAuth path responds %s', async (_, when, statuses) => {
    const gateway = await openTestGateway({
      backend: { origin: await openEcho() },
      server: {
        oauth(request, response) {
          request.resume()
          when(() => response.writeHead(404, { 'Content-Length': '0' }).end())
          return true
        },
      },
    })
    expect(statusesIn(await gateway.raw(expecting('oauth2/v2/nothing')))).toEqual(statuses)
    expect(gateway.faults).toEqual([])
  })
})
