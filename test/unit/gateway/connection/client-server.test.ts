import { expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../src/gateway/connection/client.ts'
import { parseAnswers } from './http1/answers.ts'
import { CLOSE, get, openServer } from './http1/open-server.ts'
import { toResponseFields } from '../../../../src/gateway/connection/response-fields.ts'

const post = (headers: string, body: string): string => `POST / HTTP/1.1\r\nHost: a\r\n${CLOSE}${headers}\r\n${body}`

const RESPONSES: Readonly<Record<string, (response: ClientResponse, body: string) => void>> = {
  '/empty'(response) {
    response.start(204, toResponseFields([]))
    response.end()
  },
  '/cached'(response) {
    response.start(304, toResponseFields(['ETag', '"a"']))
    response.end()
  },
  '/chunks'(response) {
    response.start(200, toResponseFields(['A', 'b', 'a', 'c']))
    response.write(Buffer.from('first'))
    response.end('last')
  },
  '/late'(response) {
    setImmediate(() => RESPONSES['/']!(response, 'late'))
  },
  '/flushed'(response) {
    response.start(200, toResponseFields(['Content-Length', '5']))
    response.flushHeaders()
    setImmediate(() => response.end('later'))
  },
  '/final'(response) {
    response.start(200, toResponseFields(['Content-Length', '0'], true))
    response.end()
  },
  '/dated'(response) {
    response.start(599, toResponseFields(['Date', 'then', 'Content-Length', '1']))
    response.endWith(Buffer.from('a'), false)
  },
  '/refused': (response) => response.refuse(421),
  '/'(response, body) {
    const text = `got ${body}`
    response.start(200, toResponseFields(['Content-Type', 'text/plain', 'Content-Length', String(text.length)]))
    response.end(text)
  },
}

function respond(request: ClientRequest, response: ClientResponse): void {
  let body = ''
  if (request.headers.expect !== undefined) response.askForBody()
  request.on('data', (chunk) => (body += String(chunk)))
  request.on('end', () => RESPONSES[request.url ?? '']!(response, body))
}

it.each([
  ['GET', get('/', CLOSE)],
  ['HEAD', `HEAD / HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`],
  ['a body with a length', post('Content-Length: 5\r\n', 'hello')],
  ['a body in chunks', post('Transfer-Encoding: chunked\r\n', '2\r\nab\r\n1\r\nc\r\n0\r\n\r\n')],
  ['an expectation', post('Content-Length: 5\r\nExpect: 100-continue\r\n', 'hello')],
  ['an unknown expectation', post('Content-Length: 5\r\nExpect: other\r\n', 'hello')],
  ['a response without a body', get('/empty') + get('/cached') + get('/', CLOSE)],
  ['a response in chunks', get('/chunks') + get('/', CLOSE)],
  ['a head that is sent before the body', get('/flushed') + get('/', CLOSE)],
  ['a late response', get('/late') + get() + get('/late', CLOSE)],
  ['a final response', get() + get('/final') + get()],
  ['a response with a date', get('/dated') + get('/', CLOSE)],
  ['a refused request', get() + get('/refused') + get()],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
  ['HTTP/1.0 that keeps the connection', `GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${get('/', CLOSE)}`],
  ['HTTP/1.0 and a body of unknown length', 'GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['another version', 'GET / HTTP/1.2\r\n\r\n'],
  ['garbage', `${get()}garbage\r\n\r\n`],
  ['two lengths', post('Content-Length: 1\r\nContent-Length: 1\r\n', 'a')],
  ['an unknown coding', post('Transfer-Encoding: gzip\r\n', '')],
  ['a head above 16 KB', get('/', `A: ${'b'.repeat(17_000)}\r\n`)],
  ['1,001 headers', get('/', 'a:\r\n'.repeat(1_001))],
  ['CONNECT', `${get()}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`],
])('createClientServer serves %s in the same way with both parsers', async (_, text) => {
  const readings = await Promise.all(
    [false, true].map(async (isFallback) => {
      const { raw, counts, faults } = await openServer(respond, { isFallback })
      const method = text.startsWith('HEAD') ? 'HEAD' : 'GET'
      return { ...parseAnswers(await raw(text), [{ method }]), counts, faults }
    }),
  )
  expect(readings[0]).toEqual(readings[1])
  expect(readings[0]!.answers).not.toEqual([])
})
