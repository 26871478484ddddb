/** The gateway refuses messages that two implementations could read differently: framing, hosts, pipelines, interim responses, headers. */

import { describe, expect, it } from 'vitest'
import { toResponseFields } from '../../../src/gateway/connection/response-fields.ts'
import { openBackend, openTestGateway, receivedUntil } from '../../fixtures/test-gateway.ts'

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
          when(() => {
            response.start(404, toResponseFields(['Content-Length', '0']))
            response.end()
          })
          return true
        },
      },
    })
    expect(statusesIn(await gateway.raw(expecting('oauth2/v2/nothing')))).toEqual(statuses)
    expect(gateway.faults).toEqual([])
  })
})

describe('a request that repeats a header of which parsers use the first or the last', () => {
  const KEY = 'x-api-key: tg_none\r\n'
  const TYPE = 'Content-Type: text/plain\r\n'
  it.each([
    // A stranger cannot raise a Critical risk with it.
    ['two keys', `GET /things-v1/keyed HTTP/1.1\r\nHost: a\r\n${KEY}${KEY}${CLOSE}\r\n`, 400, 'credential_invalid'],
    [
      'two keys, one public',
      `GET /things-v1/open HTTP/1.1\r\nHost: a\r\n${KEY}${KEY}${CLOSE}\r\n`,
      400,
      'credential_invalid',
    ],
    [
      'two types, unknown',
      `POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\n${TYPE}${TYPE}${CLOSE}\r\n`,
      401,
      'credential_missing',
    ],
    ['two types, public', `${post(`${TYPE}Content-Length: 1\r\nConnection: close`, 'x')}`, 400, 'payload_invalid'],
    ['two types without a body', open(TYPE + TYPE + CLOSE), 400, 'payload_invalid'],
  ])('%s: is refused, and recorded', async (_, text, status, outcome) => {
    const gateway = await openTestGateway({ backend: { origin: await openEcho() } })
    expect(statusesIn(await gateway.raw(text))).toEqual([String(status)])
    expect(await gateway.recorded(1)).toMatchObject([{ status, outcome }])
  })
})
