/** Slow and fast callers share the connections to a backend fairly. */

import { request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { queuedBytes } from '../../../src/gateway/connection/reader-watch.ts'
import { openBackend, openRawBackend, openTestGateway, type TestGateway } from '../../fixtures/test-gateway.ts'
import { untilStill } from '../../fixtures/until-still.ts'

const uploadRequest = (headers: string, key = 'a', path = '/things-v1/keyed'): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\nContent-Type: application/octet-stream\r\n${headers}\r\n\r\n`

const downloadRequest = (key = 'a'): string =>
  `GET /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\n\r\n`

function getStatus(gateway: TestGateway, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = {
      port: gateway.port,
      path: '/things-v1/keyed',
      agent: false,
      headers: { 'x-api-key': `key-${key}` },
    }
    request(options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })
}

it.each([2, 3, 8])(
  'A call that meets a connection which the backend has closed is answered, also if it has closed all %i',
  async (kept) => {
    let open = 0
    let isGone = false
    const held: Socket[] = []
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
    const origin = await openRawBackend((socket) => {
      open++
      const isNew = isGone
      socket.on('data', () => {
        if (isNew) return void socket.write(answer)
        if (isGone) return void socket.destroy()
        held.push(socket)
        if (held.length === kept) for (const each of held) each.write(answer)
      })
    })
    const gateway = await openTestGateway({ backend: { origin } })
    expect(await Promise.all(Array.from({ length: kept }, (_, index) => getStatus(gateway, `${index}`)))).toEqual(
      Array<number>(kept).fill(200),
    )
    isGone = true
    expect(await getStatus(gateway, 'a')).toBe(200)
    expect(open).toBe(kept + 1)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(Array<string>(kept + 1).fill('served'))
  },
)

describe('connections to a backend', () => {
  const heldResponses: ServerResponse[] = []
  const openStallingBackend = () =>
    openBackend((incoming, response) => {
      if (incoming.headers['x-consumer-id'] === 'con_good') response.end('ok')
      else heldResponses.push(response)
    })

  it('are limited, for each subscription, to half of the total, even when no other subscription waits', async () => {
    const origin = await openStallingBackend()
    const gateway = await openTestGateway({ backend: { origin, connections: 8, waitMs: 100 } })
    const statuses = Array.from({ length: 8 }, () => getStatus(gateway, 'greedy'))
    await gateway.recorded(4)
    expect(gateway.records.every(({ outcome, status }) => outcome === 'backend_busy' && status === 503)).toBe(true)
    expect(gateway.revision.backend?.only?.slots.held).toBe(4)
    expect(await getStatus(gateway, 'good')).toBe(200)
    expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
    for (const response of heldResponses.splice(0)) response.end()
    expect((await Promise.all(statuses)).sort()).toEqual([200, 200, 200, 200, 503, 503, 503, 503])
  })

  it('are shared as if all unauthenticated calls were one subscription', async () => {
    const origin = await openStallingBackend()
    const gateway = await openTestGateway({ backend: { origin, connections: 4, waitMs: 50 } })
    const sockets = await Promise.all(Array.from({ length: 4 }, () => gateway.open()))
    for (const socket of sockets) socket.write('GET /things-v1/open HTTP/1.1\r\nHost: a\r\n\r\n')
    await gateway.recorded(2)
    expect(await getStatus(gateway, 'good')).toBe(200)
    for (const response of heldResponses.splice(0)) response.end()
  })

  it('are taken back, when all stay in use, from the slowest client of the subscription that holds the most', async () => {
    const downloads: Socket[] = []
    const origin = await openBackend((incoming, response) => {
      if (incoming.headers['x-consumer-id'] === 'con_good') return void response.end('ok')
      downloads.push(incoming.socket)
      response.end(Buffer.alloc(50_000_000))
    })
    const gateway = await openTestGateway({ backend: { origin, connections: 4, waitMs: 5_000 } })
    const sockets = await Promise.all(Array.from({ length: 4 }, () => gateway.open()))
    sockets.forEach((socket, index) => {
      socket.pause()
      socket.write(downloadRequest(index < 2 ? 'a' : 'b'))
    })
    // Until the gateway reads no more of any of them.
    await untilStill(() => (downloads.length === 4 ? downloads.map(queuedBytes).join() : null))
    expect(await getStatus(gateway, 'good')).toBe(200)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['client_too_slow', 'served'])
  })

  it('stay available to others while one subscription uploads slowly', async () => {
    const origin = await openRawBackend((socket) => {
      socket.on('data', (data) => {
        if (data.includes('con_good')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    })
    const gateway = await openTestGateway({ backend: { origin, connections: 4, waitMs: 100, timeoutMs: 50 } })
    const sockets = await Promise.all(Array.from({ length: 10 }, () => gateway.open()))
    for (const socket of sockets) socket.write(uploadRequest('Transfer-Encoding: chunked') + '1\r\nx\r\n')
    await gateway.recorded(8)
    for (let index = 0; index < 5; index++) expect(await getStatus(gateway, 'good')).toBe(200)
    expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
  })
})
