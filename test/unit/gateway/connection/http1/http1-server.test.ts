import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { received, receivedUntil } from '../../../../fixtures/test-backend.ts'
import { parseAnswers } from './answers.ts'
import { answer, CLOSE, get, openServer, statusesIn } from './open-server.ts'

const OK = /ok$/
/** The limit for a head is over after 4 scans, that for an idle connection after 14. */
const SCANS = { scanEveryMs: 20 }

describe('A time limit of a connection', () => {
  it.each([
    ['no byte', ''],
    ['half a head', 'GET / HTTP/1.1\r\nHost'],
    ['half a second head', `${get()}GET / HTTP/1.1\r\nHost`],
  ])('answers %s with 408, and counts it', async (_, text) => {
    const { raw, counts, faults } = await openServer((_request, response) => answer(response), SCANS)
    expect(statusesIn(await raw(text)).at(-1)).toBe('408')
    expect(counts).toEqual(['request_too_slow'])
    expect(faults).toEqual([])
  })

  it('closes an idle connection without a response', async () => {
    const { open, counts } = await openServer((_request, response) => answer(response), SCANS)
    const socket = await open()
    socket.on('end', () => socket.destroy())
    const text = received(socket)
    socket.write(get())
    expect(statusesIn(await text)).toEqual(['200'])
    expect(counts).toEqual([])
  })

  it.each([
    ['waits for its response', get('/late'), ''],
    ['still sends the body of a request', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na', 'b'],
  ])('does not close a connection that %s for as long as an idle one stays open', async (_, begin, rest) => {
    const late: ClientResponse[] = []
    const { open, counts } = await openServer((request, response) => {
      if (request.url === '/late') return void late.push(response)
      request.resume()
      request.on('end', () => answer(response))
    }, SCANS)
    const busy = await open()
    const answered = receivedUntil(busy, OK)
    busy.write(begin)
    const idle = await open()
    const ended = once(idle, 'end')
    idle.write(get())
    idle.resume()
    await ended
    for (const response of late) answer(response)
    busy.write(rest)
    expect(statusesIn(await answered)).toEqual(['200'])
    expect(counts).toEqual([])
  })
})

describe('The server', () => {
  it('closes a connection above its maximum, and counts it', async () => {
    const { open, counts } = await openServer((_request, response) => answer(response), { connectionsMax: 1 })
    const first = await open()
    const second = await open()
    second.resume()
    await Promise.race([once(second, 'end'), once(second, 'close')])
    expect(counts).toEqual(['connection_refused'])
    const answered = receivedUntil(first, OK)
    first.write(get())
    expect(statusesIn(await answered)).toEqual(['200'])
  })

  it('that leaves answers the requests that are queued, and ends the connection with the last response', async () => {
    const responses: ClientResponse[] = []
    const { promise: areQueued, resolve } = Promise.withResolvers<void>()
    const { server, open } = await openServer((_request, response) => {
      if (responses.push(response) === 3) resolve()
    })
    const socket = await open()
    socket.on('end', () => socket.destroy())
    const text = received(socket)
    socket.write(get().repeat(3))
    await areQueued
    server.leave()
    for (const response of responses) answer(response)
    const { answers } = parseAnswers(await text, [])
    expect(answers.map(({ lines }) => lines.includes('Connection: close'))).toEqual([false, false, true])
  })

  it('that leaves ends an idle connection with the response to the next request', async () => {
    const { server, open } = await openServer((_request, response) => answer(response))
    const socket = await open()
    const first = receivedUntil(socket, OK)
    socket.write(get())
    await first
    server.leave()
    socket.on('end', () => socket.destroy())
    const text = received(socket)
    socket.write(get())
    expect(parseAnswers(await text, []).answers).toMatchObject([
      { status: 200, lines: expect.arrayContaining(['Connection: close']) },
    ])
  })

  it('closes idle connections, and no connection that waits for a response', async () => {
    const responses: ClientResponse[] = []
    const { server, open } = await openServer((request, response) => {
      if (request.url === '/late') responses.push(response)
      else answer(response)
    })
    const [idle, busy] = [await open(), await open()]
    const answered = receivedUntil(busy, OK)
    busy.write(get('/late'))
    const first = receivedUntil(idle, OK)
    idle.write(get())
    await first
    await expect.poll(() => responses.length).toBe(1)
    const closed = once(idle, 'end')
    server.closeIdleConnections()
    await closed
    answer(responses[0]!)
    expect(statusesIn(await answered)).toEqual(['200'])
  })

  it('closes all connections', async () => {
    const { promise: isReached, resolve } = Promise.withResolvers<ClientResponse>()
    const { server, open } = await openServer((_request, response) => resolve(response))
    const socket = await open()
    socket.resume()
    socket.write(get())
    const response = await isReached
    const ended = once(socket, 'end')
    server.closeAllConnections()
    await ended
    expect(response.destroyed).toBe(true)
  })
})

describe('A fault of the gateway', () => {
  const post = `POST /fault HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab`
  const fail = (): never => {
    throw new Error('fault')
  }
  const read = (request: ClientRequest): ClientRequest => {
    request.on('data', () => {})
    return request
  }
  const faulty: readonly [string, (request: ClientRequest, response: ClientResponse) => void][] = [
    ['in onRequest', fail],
    ['in a data listener', (request) => request.on('data', fail)],
    ['in an end listener', (request) => read(request).on('end', fail)],
    ['in a close listener of the request', (request) => read(request).on('close', fail)],
    [
      'in a close listener of the response',
      (_, response) => {
        response.on('close', fail)
        answer(response)
      },
    ],
    [
      'in the call whose response is over',
      (_, response) => {
        response.call = { clientGone: fail }
        answer(response)
      },
    ],
  ]

  it.each(faulty)('%s is reported, and closes only its connection', async (_, onFaulty) => {
    const { raw, open, faults, counts } = await openServer((request, response) => {
      if (request.url === '/fault') onFaulty(request, response)
      else answer(response)
    })
    const other = await open()
    await raw(post + get('/', CLOSE))
    expect(faults).toMatchObject([{ message: 'fault' }])
    const answered = receivedUntil(other, OK)
    other.write(get())
    expect(statusesIn(await answered)).toEqual(['200'])
    expect(counts).toEqual([])
  })
})
