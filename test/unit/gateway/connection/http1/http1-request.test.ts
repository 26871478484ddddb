import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ClientRequest } from '../../../../../src/gateway/connection/client.ts'
import { received, receivedUntil } from '../../../../fixtures/test-backend.ts'
import { answer, CLOSE, exchangeOften, get, openServer, statusesIn } from './open-server.ts'

const BIG_BYTES = 20_000_000
const post = (length: number, headers = ''): string =>
  `POST /upload HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${length}\r\n\r\n`

function pauseAtData(request: ClientRequest): void {
  const listener = (): void => {
    request.pause()
    request.off('data', listener)
  }
  request.on('data', listener)
}

describe('The body of a request', () => {
  it.each([
    ['is paused', (request: ClientRequest) => void request.pause()],
    ['has no listener', () => {}],
    ['is paused after its first chunk', pauseAtData],
  ])('is not accepted in full while it %s, and arrives in full afterwards', async (_, hold) => {
    const { promise: isReached, resolve } = Promise.withResolvers<ClientRequest>()
    const opened = await openServer((request, response) => {
      if (request.url !== '/upload') return answer(response)
      hold(request)
      request.on('end', () => answer(response))
      resolve(request)
    })
    const socket = await opened.open()
    const answered = receivedUntil(socket, /ok$/)
    let isAccepted = false
    socket.write(post(BIG_BYTES))
    socket.write(Buffer.alloc(BIG_BYTES), () => (isAccepted = true))
    const request = await isReached
    await exchangeOften(opened)
    expect([isAccepted, request.complete]).toEqual([false, false])
    request.resume()
    expect(statusesIn(await answered)).toEqual(['200'])
    expect(request.complete).toBe(true)
    await expect.poll(() => isAccepted).toBe(true)
  })

  it('that nobody reads is discarded after the response, and the next request is served', async () => {
    const { open } = await openServer((_request, response) => answer(response))
    const socket = await open()
    const answered = receivedUntil(socket, /ok[^]*ok$/)
    socket.write(post(BIG_BYTES))
    socket.write(Buffer.alloc(BIG_BYTES))
    socket.write(get())
    expect(statusesIn(await answered)).toEqual(['200', '200'])
  })

  it('is buffered until it gets a listener, which is never called within `on`', async () => {
    const events: string[] = []
    const { raw } = await openServer((request, response) => {
      setImmediate(() => {
        request.on('data', (chunk) => events.push(String(chunk)))
        request.on('end', () => events.push('end'))
        request.on('close', () => {
          events.push('close')
          answer(response)
        })
        events.push('listening')
      })
    })
    await raw(`${post(5, CLOSE)}hello`)
    expect(events).toEqual(['listening', 'hello', 'end', 'close'])
  })

  it('closes without an end if the client disconnects', async () => {
    const { promise: isReached, resolve } = Promise.withResolvers<ClientRequest>()
    const events: string[] = []
    const { open } = await openServer((request) => {
      request.on('data', (chunk) => {
        events.push(String(chunk))
        resolve(request)
      })
      request.on('end', () => events.push('end'))
      request.on('close', () => events.push('close'))
    })
    const socket = await open()
    socket.write(`${post(10)}begun`)
    const request = await isReached
    socket.resetAndDestroy()
    await expect.poll(() => events).toEqual(['begun', 'close'])
    expect(request.complete).toBe(false)
  })

  it('ends without its trailers, which are dropped', async () => {
    let body = ''
    const headers: unknown[] = []
    const { raw } = await openServer((request, response) => {
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        headers.push(request.rawHeaders, { ...request.headers })
        answer(response)
      })
    })
    const head = 'POST / HTTP/1.1\r\nA: b\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
    const text = await raw(`${head}2\r\nab\r\n0\r\nA: trailer\r\nHost: trailer\r\n\r\n`)
    expect([statusesIn(text), body]).toEqual([['200'], 'ab'])
    expect(headers).toEqual([
      ['A', 'b', 'Connection', 'close', 'Transfer-Encoding', 'chunked'],
      { a: 'b', connection: 'close', 'transfer-encoding': 'chunked' },
    ])
  })
})

describe('A request with many headers', () => {
  const head = (count: number): string => `GET / HTTP/1.1\r\n${CLOSE}${'a: b\r\n'.repeat(count - 1)}\r\n`

  it.each([33, 1_000])('is served with all of its %i', async (count) => {
    let parts = 0
    const { raw } = await openServer((request, response) => {
      parts = request.rawHeaders.length
      answer(response)
    })
    expect(statusesIn(await raw(head(count)))).toEqual(['200'])
    expect(parts).toBe(count * 2)
  })

  it.each([1_001, 1_033])('is refused with 431 if they are %i', async (count) => {
    const { raw, counts } = await openServer((_request, response) => answer(response))
    expect(statusesIn(await raw(get() + head(count) + get()))).toEqual(['200', '431'])
    expect(counts).toEqual(['header_too_long'])
  })
})

it('A request whose client has closed the connection emits `close` once', async () => {
  let closes = 0
  const { promise: isReached, resolve } = Promise.withResolvers<ClientRequest>()
  const { open } = await openServer((request) => {
    request.on('close', () => closes++)
    resolve(request)
  })
  const socket = await open()
  const text = received(socket)
  socket.write(post(5))
  const request = await isReached
  const closed = once(request.socket, 'close')
  socket.destroy()
  await closed
  expect([await text, closes]).toEqual(['', 1])
})
