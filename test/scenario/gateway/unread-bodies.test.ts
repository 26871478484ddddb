/** A call that is refused before its body is read leaves its connection to the next call, or says that it ends. */

import { describe, expect, it } from 'vitest'
import { answerTo, KEYED, openClient, openHttp2Gateway, UPLOAD } from '../../fixtures/http2-calls.ts'
import { openBackend, openTestGateway, received, receivedUntil } from '../../fixtures/test-gateway.ts'

const MEGABYTE = 1024 * 1024
const chunked = (bytes: number): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\n\r\n`

it.each([1, 65_535, 65_536, 65_537, 200_000, MEGABYTE])(
  'The call behind a refused upload of %i bytes is answered, on the same connection',
  async (bytes) => {
    const origin = await openBackend((_, response) => response.end('next'))
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const refused = receivedUntil(socket, /credential_missing/)
    socket.write(`POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`)
    expect(await refused).toMatch(/^HTTP\/1.1 401 /)
    const answered = receivedUntil(socket, /next$/)
    socket.write('GET /things-v1/open HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await answered).toMatch(/^HTTP\/1.1 200 /)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['credential_missing', 'served'])
  },
)

const KEY = 'X-API-Key: key-a\r\n'
/** Each is decided by the head. */
const EARLY = [
  ['no credential', 'POST /things-v1/keyed', '', 401],
  ['an unknown path', 'POST /things-v1/other', KEY, 404],
  ['another method', 'PUT /things-v1/keyed', KEY, 405],
  ['an unknown API', 'POST /other-v1/keyed', KEY, 404],
  ['a path that is not canonical', 'POST /things-v1/../keyed', KEY, 400],
  ['OPTIONS', 'OPTIONS /things-v1/keyed', KEY, 405],
] as const

describe.each(EARLY)('an upload that is refused for %s', (_, line, headers, status) => {
  it.each([
    ['one byte more than a megabyte', MEGABYTE + 1],
    ['5 MB', 5_000_000],
  ])('of %s gets the whole answer, which ends the connection', async (_name, bytes) => {
    const gateway = await openTestGateway({ backend: { origin: 'http://127.0.0.1:1' } })
    for (const [framing, body] of [
      [`Content-Length: ${bytes}`, 'x'.repeat(bytes)],
      ['Transfer-Encoding: chunked', chunked(bytes)],
    ]) {
      const socket = await gateway.open()
      const faults: unknown[] = []
      socket.on('error', (fault) => faults.push(fault))
      const answer = received(socket)
      socket.write(`${line} HTTP/1.1\r\nHost: a\r\n${headers}${framing}\r\n\r\n${body}`)
      const text = await answer
      expect(faults).toEqual([])
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nConnection: close\r\n`))
      const [head = '', rest] = text.split('\r\n\r\n')
      expect(rest).toHaveLength(Number(/^content-length: (\d+)\r?$/im.exec(head)?.[1]))
    }
  })

  it.each([0, 1, 200_000])('over HTTP/2 gets the answer with a body of %i bytes', async (bytes) => {
    const gateway = await openHttp2Gateway({ backend: { origin: 'http://127.0.0.1:1' } })
    const [method = '', path = ''] = line.split(' ')
    const fields = { ...(headers === '' ? {} : KEYED), ':method': method, ':path': path }
    const client = openClient(gateway)
    for (let times = 0; times < 3; times++) {
      const stream = client.request(fields, { endStream: bytes === 0 })
      if (bytes > 0) stream.end(Buffer.alloc(bytes))
      expect((await answerTo(stream)).status).toBe(status)
    }
  })
})

it('An answer of the backend that comes before a long upload is complete ends the connection', async () => {
  const origin = await openBackend((_, response) => response.writeHead(200, { 'content-length': 5 }).end('early'))
  const gateway = await openTestGateway({ backend: { origin } })
  const socket = await gateway.open()
  const answer = received(socket)
  const head = `POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n`
  socket.write(`${head}Content-Length: ${2 * MEGABYTE}\r\n\r\n${'x'.repeat(MEGABYTE)}`)
  await receivedUntil(socket, /early$/)
  socket.write('x'.repeat(MEGABYTE))
  expect(await answer).toMatch(/^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/)
})

describe('an answer without a body in the turn of the request, over HTTP/2', () => {
  const DOCUMENT = { 'x-tollgate-cors': { origins: ['https://app.example'] } }
  it.each([
    [
      'a preflight',
      { 'access-control-request-method': 'POST', origin: 'https://app.example', ':method': 'OPTIONS' },
      204,
    ],
    ['a head that is ambiguous', { ':authority': 'a.example', host: 'b.example' }, 400],
  ] as const)('arrives with and without a body of the request: %s', async (_, more, status) => {
    const gateway = await openHttp2Gateway({ backend: { origin: 'http://127.0.0.1:1' }, root: DOCUMENT })
    const client = openClient(gateway)
    for (const bytes of [0, 1, 100, 60_000]) {
      const stream = client.request({ ...UPLOAD, ...more }, { endStream: bytes === 0 })
      if (bytes > 0) stream.end(Buffer.alloc(bytes))
      const answer = await answerTo(stream)
      expect([bytes, answer.status]).toEqual([bytes, status])
    }
  })
})
