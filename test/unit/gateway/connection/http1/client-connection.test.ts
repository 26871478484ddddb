import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { received, receivedUntil } from '../../../../fixtures/test-backend.ts'
import { answer, CLOSE, exchangeOften, get, openServer, statusesIn } from './open-server.ts'
import { serveWithOurs } from './read-requests.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'

const post = (length: number, headers = ''): string =>
  `POST /upload HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${length}\r\n\r\n`
const CHUNKED = 'POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n'
const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'
const UPGRADE = 'Connection: upgrade\r\nUpgrade: websocket\r\n'

describe('A stream of requests', () => {
  it.each([
    ['one request', get(), ['200']],
    [
      'several requests',
      get('/a') + post(5) + 'hello' + get('/b', 'Cookie: a\r\nCookie: b\r\n') + get('/c'),
      ['200', '200', '200', '200'],
    ],
    [
      'chunks and trailers',
      `${CHUNKED}\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\nC: d\r\n\r\n${get()}`,
      ['200', '200'],
    ],
    ['a head of 80 headers', get('/a?b=c', 'A: b\r\n'.repeat(80)) + get(), ['200', '200']],
    ['an expectation', `${post(5, 'Expect: 100-continue\r\n')}hello${get()}`, ['100', '200', '200']],
    ['an expectation of chunks', `${CHUNKED}Expect: 100-continue\r\n\r\n1\r\na\r\n0\r\n\r\n`, ['100', '200']],
    ['garbage after a request', `${get()}garbage\r\n\r\n${get()}`, ['200', '400']],
    ['two lengths after a request', `${get()}${post(1, 'Content-Length: 1\r\n')}a`, ['200', '400']],
    ['a chunk without a size', `${CHUNKED}\r\n1\r\na\r\nx\r\n`, ['400']],
    ['a bare line feed', `${get()}GET / HTTP/1.1\nHost: a\n\n`, ['200', '400']],
    ['an old version', 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n', ['200', '200']],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', ['505']],
    ['CONNECT after a request', get() + CONNECT + get(), ['200', '400']],
    ['an unknown coding', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n`, ['501']],
    ['an upgrade', get('/', UPGRADE), ['200']],
    ['a final request', get() + get('/', CLOSE), ['200', '200']],
  ])('with %s has the same outcome however its bytes arrive', async (_, text, statuses) => {
    const bytes = Buffer.from(text, 'latin1')
    const serve = (splits: readonly number[], ends: boolean) => serveWithOurs({ bytes, splits, ends, plans: [] })
    const offsets = Array.from({ length: bytes.length - 1 }, (__, index) => index + 1)
    for (const ends of [false, true]) {
      const whole = await serve([], ends)
      expect(whole.answers.map(({ status }) => String(status))).toEqual(statuses)
      const readings = await Promise.all(offsets.map((offset) => serve([offset], ends)))
      for (const [index, reading] of readings.entries()) expect([index, reading]).toEqual([index, whole])
      expect(await serve(offsets, ends)).toEqual(whole)
    }
  })
})

it('A request behind a final one is not served however its bytes arrive', async () => {
  const bytes = Buffer.from(get('/', CLOSE) + get('/smuggled'))
  for (let offset = 1; offset < bytes.length; offset++) {
    const reading = await serveWithOurs({ bytes, splits: [offset], ends: false, plans: [] })
    expect(reading.served).toMatchObject([{ url: '/' }])
    expect(reading).toMatchObject({ isClosed: true, answers: [{ status: 200 }], rest: '' })
  }
})

describe('A client that closes its side', () => {
  it('behind a request that waits for its response ends the call', async () => {
    const { promise: isReached, resolve } = Promise.withResolvers<ClientResponse>()
    let ends = 0
    const { open, faults } = await openServer((_request, response) => {
      response.call = { clientGone: () => void ends++ }
      resolve(response)
    })
    const socket = await open()
    const text = received(socket)
    socket.end(get())
    const response = await isReached
    await once(socket, 'end')
    await expect.poll(() => ends).toBe(1)
    expect([response.destroyed, response.writableFinished]).toEqual([true, false])
    answer(response)
    socket.destroy()
    expect([await text, ends, faults]).toEqual(['', 1, []])
  })

  it('while it reads a finished response gets all of it', async () => {
    const { open } = await openServer((_request, response) => answer(response, 'x'.repeat(10_000_000)))
    const socket = await open()
    let bytes = 0
    let isEnded = false
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (!isEnded) socket.end()
      isEnded = true
    })
    socket.write(get())
    await once(socket, 'end')
    expect(bytes).toBeGreaterThan(10_000_000)
  })

  it('within a request gets 400, which is not counted', async () => {
    const { open, counts } = await openServer(() => {})
    const socket = await open()
    const ended = once(socket, 'end')
    const text = receivedUntil(socket, /400 Bad Request/)
    socket.end(`${post(5)}abc`)
    await ended
    expect(statusesIn(await text)).toEqual(['400'])
    expect(counts).toEqual([])
  })
})

describe('A final response', () => {
  it.each([
    ['stops', 0],
    ['goes on', 3_000_000],
  ])('whose request is not read arrives in full and ends the connection, if the client %s', async (_, rest) => {
    const body = 'x'.repeat(1_000_000)
    const { open, faults } = await openServer((_request, response) => {
      response.start(413, toResponseFields(['Content-Length', String(body.length)], true))
      response.end(body)
    })
    const socket = await open()
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    const ended = once(socket, 'end')
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.write(post(100_000_000))
    socket.write(Buffer.alloc(1_000_000 + rest))
    await ended
    // The client keeps its side open, and notices that the server has closed the connection when it writes.
    const write = (): void => void socket.write('x', (error) => error ?? setImmediate(write))
    write()
    await closed
    expect(statusesIn(text)).toEqual(['413'])
    expect(text.endsWith(`\r\n\r\n${body}`)).toBe(true)
    expect(faults).toEqual([])
  })

  it('ends the connection when its request has arrived in full', async () => {
    const { raw } = await openServer((_request, response) => {
      response.start(200, toResponseFields(['Content-Length', '2'], true))
      response.end('ok')
    })
    expect(statusesIn(await raw(get() + get()))).toEqual(['200'])
  })
})

describe('An expectation that is queued behind another request', () => {
  const expecting = post(5, 'Expect: 100-continue\r\n')

  it('gets no `100 Continue` behind its response if its body arrives before', async () => {
    const responses: ClientResponse[] = []
    const { raw } = await openServer((request, response) => {
      if (request.url === '/last') return answer(response)
      responses.push(response)
      if (request.url !== '/upload') return
      response.askForBody()
      request.resume()
      request.on('end', () => {
        for (const each of responses.toReversed()) answer(each)
      })
    })
    expect(statusesIn(await raw(`${get()}${expecting}hello${get('/last', CLOSE)}`))).toEqual(['200', '200', '200'])
  })

  it('and answered before `100 Continue` and the body ends the connection, since the client may send the body or another request', async () => {
    const first: ClientResponse[] = []
    const { open } = await openServer((request, response) => {
      if (request.url !== '/upload') return void first.push(response)
      response.askForBody()
      answer(response)
      for (const each of first) answer(each)
    })
    const socket = await open()
    const text = receivedUntil(socket, /ok[^]*ok$/)
    socket.write(get() + expecting)
    expect(statusesIn(await text)).toEqual(['200', '200'])
    expect((await text).split('HTTP/1.1 200 OK').at(-1)).toContain('Connection: close')
  })
})

describe('A connection that stops reading', () => {
  /** Fits into one read with its head. */
  const BODY_BYTES = 65_450

  it('because nothing reads a body continues with the next request after the response', async () => {
    const { promise: isReached, resolve } = Promise.withResolvers<readonly [ClientRequest, ClientResponse]>()
    // A connection that is stuck is closed as an idle one.
    const { open } = await openServer(
      (request, response) => {
        if (request.url === '/upload') resolve([request, response])
        else answer(response, 'next')
      },
      { scanEveryMs: 200 },
    )
    const socket = await open()
    const first = receivedUntil(socket, /ok$/)
    const second = receivedUntil(socket, /next$/)
    socket.write(post(BODY_BYTES) + 'x'.repeat(BODY_BYTES))
    const [request, response] = await isReached
    await expect.poll(() => request.complete).toBe(true)
    answer(response)
    await first
    socket.write(get())
    expect(statusesIn(await second)).toEqual(['200', '200'])
  })

  it('because responses are queued does not count the time towards the limit for a head', async () => {
    const first: ClientResponse[] = []
    const { promise: isQueued, resolve } = Promise.withResolvers<void>()
    const { open, counts } = await openServer(
      (request, response) => {
        if (request.url === '/first') return void first.push(response)
        answer(response, request.url === '/last' ? 'last' : 'x'.repeat(BODY_BYTES))
        resolve()
      },
      { scanEveryMs: 20 },
    )
    const socket = await open()
    const text = receivedUntil(socket, /last$|408/)
    socket.write(`${get('/first')}${get()}GET /last HT`)
    await isQueued
    // The limit for an idle connection is longer than that for a head.
    const idle = await open()
    idle.write(get())
    idle.resume()
    await once(idle, 'end')
    const answered = once(socket, 'data')
    answer(first[0]!)
    await answered
    socket.write('TP/1.1\r\n\r\n')
    expect(statusesIn(await text)).toEqual(['200', '200', '200'])
    expect(counts).toEqual([])
  })
})

describe('Requests that a client sends without waiting for answers', () => {
  it('begin a few in each turn, and are all answered', async () => {
    const COUNT = 1_000
    let inTurn = 0
    let most = 0
    const { raw } = await openServer((_, response) => {
      if (++inTurn === 1) setImmediate(() => (inTurn = 0))
      most = Math.max(most, inTurn)
      answer(response)
    })
    expect(statusesIn(await raw(get().repeat(COUNT - 1) + get('/', CLOSE)))).toHaveLength(COUNT)
    expect(most).toBeLessThanOrEqual(16)
  })

  it('are not read while others wait, so that none is refused', async () => {
    const COUNT = 3_000
    const { raw, counts } = await openServer((_, response) => answer(response))
    const long = `/${'a'.repeat(500)}`
    expect(statusesIn(await raw(get(long).repeat(COUNT - 1) + get('/', CLOSE)))).toHaveLength(COUNT)
    expect(counts).toEqual([])
  })

  it('do not begin after the end of their connection', async () => {
    let begun = 0
    const { raw } = await openServer((_, response) => {
      if (++begun > 8) throw new Error('broken')
      answer(response)
    })
    await raw(get().repeat(1_000))
    await exchangeOften(await openServer((_, response) => answer(response)))
    expect(begun).toBeLessThanOrEqual(8 + 16)
  })
})
