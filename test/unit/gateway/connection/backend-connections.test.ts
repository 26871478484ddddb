import { createServer, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import type { buildConnector } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openConnections } from '../../../../src/gateway/connection/backend-connections.ts'
import type { BodySink, Exchange } from '../../../../src/gateway/connection/exchange.ts'
import { findHttpParser } from '../../../../src/gateway/connection/http1/http-parser.ts'
import { listen, openRawBackend } from '../../../fixtures/test-backend.ts'
import { openServer, start } from './exchanges.ts'

const PARSERS = [
  ['our own connections', findHttpParser(), 1],
  // undici frees a connection after it has told the end of a response.
  ['the fallback', null, 2],
] as const

describe.each(PARSERS)('the connections to a backend: %s', (_, parser, inTurn) => {
  function open(origin: string, connect: buildConnector.connector | buildConnector.BuildOptions = { allowH2: false }) {
    const connections = openConnections({ origin, connections: 4, connect }, parser)
    onTestFinished(() => connections.close())
    return connections
  }

  it('carry one exchange after the other on one connection', async () => {
    const { origin, sockets } = await openServer((request, response) => response.end(request.url))
    const connections = open(origin)
    for (const path of ['/a', '/b', '/c']) expect((await start(connections, { path }).answered).body).toBe(path)
    expect(sockets).toHaveLength(inTurn)
  })

  it('state of an exchange whether the backend can have received something of it', async () => {
    const { origin } = await openServer((request, response) => response.end(request.url))
    const { exchange, answered } = start(open(origin))
    expect(exchange.isSent).toBe(false)
    await answered
    expect(exchange.isSent).toBe(true)
    const refused = start(open(origin, (_target, callback) => queueMicrotask(() => callback(new Error('no'), null))))
    await expect(refused.answered).rejects.toThrow('no')
    expect(refused.exchange.isSent).toBe(false)
  })

  it('carry exchanges at once on connections of their own', async () => {
    const { origin, sockets } = await openServer((request, response) => setImmediate(() => response.end(request.url)))
    const connections = open(origin)
    const answers = await Promise.all(['/a', '/b', '/c'].map((path) => start(connections, { path }).answered))
    expect(answers.map(({ body }) => body)).toEqual(['/a', '/b', '/c'])
    expect(sockets).toHaveLength(3)
  })

  it.each([
    ['with many fields', 'X-A: b\r\nX-B:  c \r\nx-a: d\r\n', ['b', 'c', 'd']],
    ['without fields', '', []],
    ['with 40 fields', 'X-A: b\r\n'.repeat(40), Array.from({ length: 40 }, () => 'b')],
  ])('pass on a trailer %s before the end', async (_name, trailer, expected) => {
    const head = 'HTTP/1.1 200 OK\r\nX-Head: 1\r\nTransfer-Encoding: chunked\r\n\r\n'
    const origin = await openRawBackend((socket) =>
      socket.on('data', () => socket.write(`${head}1\r\na\r\n0\r\n${trailer}\r\n`)),
    )
    const connections = open(origin)
    for (let round = 0; round < 2; round++) {
      const fields: string[] = []
      const trailers = { takeTrailer: (next: readonly string[]) => void fields.push(...next) }
      expect((await start(connections, {}, { trailers }).answered).body).toBe('a')
      const values = fields.filter((_, index) => index % 2 === 1).map((value) => value.trim())
      expect(values.sort()).toEqual(expected)
      // Nothing receives the trailer of the next exchange.
      expect((await start(connections).answered).body).toBe('a')
    }
  })

  it('take no fields for a trailer that follow the end of a response', async () => {
    const fields: string[] = []
    const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na'
    const surplus = `HTTP/1.1 200 OK\r\n${'X-Usage-Units: 1\r\n'.repeat(40)}\r\n`
    const origin = await openRawBackend((socket) => socket.on('data', () => socket.write(whole + surplus)))
    const trailers = { takeTrailer: (next: readonly string[]) => void fields.push(...next) }
    expect((await start(open(origin), {}, { trailers }).answered).body).toBe('a')
    expect(fields).toEqual([])
  })

  it('send the parts of a request as they are', async () => {
    const seen: { readonly request: IncomingMessage; readonly body: string }[] = []
    const { origin } = await openServer(async (request, response) => {
      seen.push({ request, body: await textOf(request) })
      response.end()
    })
    const connections = open(origin)
    const lines = 'X-A: b\r\nx-a: c\r\nCookie: ü=é\r\n'
    await start(connections, { method: 'POST', path: '/a?b=%20', lines, body: Buffer.from('a body') }).answered
    await start(connections, { method: 'PUT', body: Buffer.alloc(100_000, 'x') }).answered
    await start(connections, { method: 'POST' }).answered
    expect(seen.map(({ request: { method, url } }) => [method, url])).toEqual([
      ['POST', '/a?b=%20'],
      ['PUT', '/'],
      ['POST', '/'],
    ])
    expect(seen.map(({ body }) => body.length)).toEqual([6, 100_000, 0])
    expect(seen.map(({ request }) => request.headers['content-length'])).toEqual(['6', '100000', '0'])
    expect(seen[0]!.request.headersDistinct).toMatchObject({
      host: [new URL(origin).host],
      connection: ['keep-alive'],
      'x-a': ['b', 'c'],
      cookie: [Buffer.from('ü=é', 'latin1').toString('latin1')],
    })
  })

  it.each([
    ['a length', 11, { 'content-length': '11' }],
    ['chunks', -1, { 'transfer-encoding': 'chunked' }],
  ])('send a body that arrives in pieces with %s', async (_name, bodyBytes, framing) => {
    const { origin, sockets } = await openServer(async (request, response) =>
      response.end(JSON.stringify({ headers: request.headers, body: await textOf(request) })),
    )
    const connections = open(origin)
    for (let round = 0; round < 3; round++) {
      const body = {
        start(sink: BodySink) {
          sink.write(Buffer.from('hello '))
          setImmediate(() => {
            sink.write(Buffer.from('world'))
            sink.end()
          })
        },
        drained() {},
      }
      const { body: seen } = await start(connections, { method: 'POST', body, bodyBytes }).answered
      expect(JSON.parse(seen)).toMatchObject({ headers: framing, body: 'hello world' })
    }
    expect(sockets).toHaveLength(inTurn)
  })

  it('hold up a body that the backend does not read, until it reads again', async () => {
    const { promise: paused, resolve: onPaused } = Promise.withResolvers<IncomingMessage>()
    const { origin } = await openServer((request, response) => {
      let bytes = 0
      onPaused(request.pause())
      request.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => response.end(String(bytes)))
      request.pause()
    })
    const chunk = Buffer.alloc(1_000_000)
    const { promise: full, resolve: onFull } = Promise.withResolvers<void>()
    let sink: BodySink | null = null
    let sent = 0
    const fill = (): void => {
      while (sent < 50) {
        sent++
        if (!sink!.write(chunk)) return onFull()
      }
      sink!.end()
    }
    const body = {
      start(given: BodySink) {
        sink = given
        fill()
      },
      drained: fill,
    }
    const { answered } = start(open(origin), { method: 'POST', body, bodyBytes: -1 })
    await full
    expect(sent).toBeLessThan(50)
    ;(await paused).resume()
    expect((await answered).body).toBe(String(50_000_000))
  })

  it('stop reading while an exchange is paused', async () => {
    const size = 40_000_000
    const { origin } = await openServer((_request, response) => response.end(Buffer.alloc(size)))
    const { promise: begun, resolve: onBegun } = Promise.withResolvers<Exchange>()
    let bytes = 0
    const { answered } = start(
      open(origin),
      {},
      {
        onData(exchange, chunk) {
          bytes += chunk.length
          if (bytes === chunk.length) {
            exchange.pause()
            onBegun(exchange)
          }
          return null
        },
      },
    )
    const exchange = await begun
    expect(exchange.isPaused).toBe(true)
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(bytes).toBeLessThan(1_000_000)
    exchange.resume()
    expect((await answered).body).toHaveLength(size)
  })

  it('close the connection of an exchange that is aborted, and call nobody', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const { origin, sockets } = await openServer((request, response) => {
      if (request.url !== '/slow') return void response.end('fast')
      request.socket.on('close', resolve)
      response.write('a start')
    })
    const connections = open(origin)
    const calls: string[] = []
    const { exchange } = start(
      connections,
      { path: '/slow' },
      {
        onData() {
          calls.push('data')
          exchange.abort()
          return null
        },
      },
    )
    await closed
    expect(calls).toEqual(['data'])
    expect((await start(connections, { path: '/fast' }).answered).body).toBe('fast')
    expect(sockets).toHaveLength(2)
  })

  it('do not carry another exchange on a connection whose request is not complete', async () => {
    const { origin, sockets } = await openServer((_request, response) => response.end('too early'))
    const connections = open(origin)
    const body = { start: (sink: BodySink) => void sink.write(Buffer.from('a part')), drained() {} }
    expect((await start(connections, { method: 'POST', body, bodyBytes: 100 }).answered).body).toBe('too early')
    expect((await start(connections).answered).body).toBe('too early')
    expect(sockets).toHaveLength(2)
  })

  it.each([104, 199])('fail a response whose interim response %i has a body', async (status) => {
    const interim = `HTTP/1.1 ${status} Odd\r\nContent-Length: 4\r\n\r\nEVIL`
    const origin = await openRawBackend((socket) =>
      socket.once('data', () => socket.write(`${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`)),
    )
    const parts: string[] = []
    const tell = (part: string) => {
      parts.push(part)
      return null
    }
    const taps = { onHead: () => void tell('head'), onData: () => tell('data') }
    await expect(start(open(origin), {}, taps).answered).rejects.toThrow(/./)
    expect(parts).toEqual([])
  })

  it('report a backend that refuses connections', async () => {
    const server = createServer()
    const port = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    await expect(start(open(`http://127.0.0.1:${port}`)).answered).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it.each([{ path: '/a b' }, { path: '/a\r\nX: y' }, { path: '/\u010a' }, { method: 'GET\r\n' }])(
    'refuse a request line that would read differently: %j',
    async (request) => {
      const { origin, sockets } = await openServer((_request, response) => response.end())
      const connections = open(origin)
      const outcome = async (): Promise<string> => {
        try {
          await start(connections, request).answered
          return 'sent'
        } catch (cause) {
          return (cause as NodeJS.ErrnoException).code ?? ''
        }
      }
      expect(await outcome()).toMatch(/^(TOLLGATE_REQUEST_INVALID|UND_ERR_INVALID_ARG)$/)
      expect(sockets).toHaveLength(0)
    },
  )
})
