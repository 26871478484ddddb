/** Clients that try to hold memory, time or connections, or to have requests served that get no answer. */

import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import { receivedUntil } from '../../../../fixtures/test-backend.ts'
import { answer, CLOSE, exchangeOften, get, openServer, statusesIn } from './open-server.ts'

const CHUNKED = 'POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
const UPGRADE = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n'

/** A connection whose client never reads: nothing that is written is accepted. */
class DeafClient extends Duplex {
  override _read(): void {}
  override _write(): void {}

  setTimeout(): this {
    return this
  }
}

it('A client that does not read a refusal is disconnected', async () => {
  const { server } = await openServer((_, response) => response.refuse(400), { scanEveryMs: 20 })
  const client = new DeafClient()
  const closed = once(client, 'close')
  server.emit('connection', client as never)
  client.push(get())
  await closed
})

it('Chunks of one byte count as more than their bytes, and arrive in their order', async () => {
  const CHUNKS = 20_000
  const { promise: isReached, resolve } = Promise.withResolvers<ClientRequest>()
  const { open } = await openServer((request, response) => {
    request.pause()
    request.on('end', () => answer(response))
    resolve(request)
  })
  const socket = await open()
  const answered = receivedUntil(socket, /ok$/)
  socket.write(CHUNKED)
  const request = await isReached
  const sent = Array.from({ length: CHUNKS }, (_, index) => String(index % 10)).join('')
  let isAccepted = false
  const chunks = [...sent].map((digit) => `1\r\n${digit}\r\n`).join('')
  socket.write(`${chunks.repeat(50)}0\r\n\r\n`, () => (isAccepted = true))
  // The other connection is read after this one.
  const other = await open()
  const otherReached = once(other, 'end')
  other.resume()
  other.end('malformed\r\n\r\n')
  await otherReached
  expect([request.complete, isAccepted]).toEqual([false, false])
  let body = ''
  request.on('data', (chunk) => (body += chunk.toString('latin1')))
  request.resume()
  await answered
  expect(body === sent.repeat(50)).toBe(true)
})

it('A body that nobody reads is not read because the one before it is discarded', async () => {
  const BIG_BYTES = 20_000_000
  const chunks = '1\r\na\r\n'.repeat(2_000)
  const first = Promise.withResolvers<ClientResponse>()
  const second = Promise.withResolvers<ClientRequest>()
  const opened = await openServer((request, response) => {
    if (request.method === 'GET') return answer(response)
    if (request.url === '/first') return first.resolve(response)
    request.pause()
    second.resolve(request)
  })
  const socket = await opened.open()
  const answered = receivedUntil(socket, /ok$/)
  const head = CHUNKED.replace('/chunks', '/first')
  socket.write(`${head}${chunks}0\r\n\r\n${CHUNKED}${chunks}`)
  const request = await second.promise
  // The rest of the read belongs to the second body, which is held once 64 KB of it wait.
  await exchangeOften(opened)
  answer(await first.promise)
  await answered
  socket.write(`${BIG_BYTES.toString(16)}\r\n`)
  socket.write(Buffer.alloc(BIG_BYTES))
  await exchangeOften(opened)
  expect(request.socket.bytesRead).toBeLessThan(200_000)
})

it('A request to upgrade is answered, and the next one is served if nothing of it was lost', async () => {
  const { open } = await openServer((request, response) => answer(response, `at ${request.url}`))
  const socket = await open()
  const first = receivedUntil(socket, /at \/1/)
  socket.write(get('/1', UPGRADE))
  expect(await first).toContain('Connection: keep-alive')
  const second = receivedUntil(socket, /at \/2/)
  socket.write(get('/2'))
  expect(statusesIn(await second)).toEqual(['200'])
})

it('Bytes that are lost behind a request to upgrade end the connection', async () => {
  const served: unknown[] = []
  const { raw } = await openServer((request, response) => {
    served.push(request.url)
    answer(response)
  })
  expect(statusesIn(await raw(get('/1', UPGRADE) + get('/2')))).toEqual(['200'])
  expect(served).toEqual(['/1'])
})

it('No request is served behind one whose response says that it is the last one, even while that response waits', async () => {
  const { promise: isReached, resolve } = Promise.withResolvers<ClientResponse>()
  const served: unknown[] = []
  const { open } = await openServer((request, response) => {
    served.push(request.url)
    if (request.url === '/first') return resolve(response)
    response.start(401, toResponseFields(['Content-Length', '0'], true))
    response.end()
  })
  const socket = await open()
  const text = receivedUntil(socket, /401[^]*\r\n\r\n/)
  socket.write(get('/first') + get('/last') + get('/behind'))
  answer(await isReached)
  expect(statusesIn(await text)).toEqual(['200', '401'])
  expect(served).toEqual(['/first', '/last'])
})

it('A request that was answered gets no second response if its body turns out to be malformed', async () => {
  const { raw, counts } = await openServer((_, response) => answer(response))
  expect(statusesIn(await raw(`${CHUNKED}1\r\na\r\nmalformed\r\n`))).toEqual(['200'])
  expect(counts).toEqual(['malformed'])
})

it('A long pipeline of responses that wait is answered in one go, without recursion', async () => {
  const COUNT = 1_000
  const { promise: isReached, resolve } = Promise.withResolvers<ClientResponse>()
  const { open } = await openServer((request, response) => {
    if (request.url === '/first') resolve(response)
    else answer(response, request.url)
  })
  const socket = await open()
  const text = receivedUntil(socket, new RegExp(`/${COUNT}$`))
  socket.write(get('/first') + Array.from({ length: COUNT }, (_, index) => get(`/${index + 1}`)).join(''))
  answer(await isReached)
  expect(statusesIn(await text)).toHaveLength(COUNT + 1)
})

it('A final response ends the connection behind it although the client keeps it open', async () => {
  const { open } = await openServer((_, response) => answer(response))
  const socket = await open()
  const ended = once(socket, 'end')
  socket.resume()
  socket.write(get('/', CLOSE))
  await ended
})
