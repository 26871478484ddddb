/** The connections of a backend are shared fairly among slow and fast callers. */

import { request, type ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { openBackend, openRawBackend, openTestGateway, type TestGateway } from '../../fixtures/test-gateway.ts'

const upload = (headers: string, key = 'a', path = '/things-v1/keyed'): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\nContent-Type: application/octet-stream\r\n${headers}\r\n\r\n`

const download = (key = 'a'): string => `GET /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\n\r\n`

function get(gateway: TestGateway, key: string): Promise<number> {
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

describe('the connections of a backend', () => {
  const pending: ServerResponse[] = []
  const openHolding = () =>
    openBackend((incoming, response) => {
      if (incoming.headers['x-consumer-id'] === 'con_good') response.end('ok')
      else pending.push(response)
    })

  it('are limited to half of them per subscription, even without competition', async () => {
    const origin = await openHolding()
    const gateway = await openTestGateway({ backend: { origin, connections: 8, waitMs: 100 } })
    const statuses = Array.from({ length: 8 }, () => get(gateway, 'greedy'))
    await gateway.recorded(4)
    expect(gateway.records.every(({ outcome, status }) => outcome === 'backend_busy' && status === 503)).toBe(true)
    expect(gateway.revision.backend?.slots.held).toBe(4)
    expect(await get(gateway, 'good')).toBe(200)
    expect(gateway.revision.backend?.gate.hasFailed).toBe(false)
    for (const response of pending.splice(0)) response.end()
    expect((await Promise.all(statuses)).sort()).toEqual([200, 200, 200, 200, 503, 503, 503, 503])
  })

  it('count all public calls as one subscription', async () => {
    const origin = await openHolding()
    const gateway = await openTestGateway({ backend: { origin, connections: 4, waitMs: 50 } })
    const sockets = await Promise.all(Array.from({ length: 4 }, () => gateway.open()))
    for (const socket of sockets) socket.write('GET /things-v1/open HTTP/1.1\r\nHost: a\r\n\r\n')
    await gateway.recorded(2)
    expect(await get(gateway, 'good')).toBe(200)
    pending.length = 0
  })

  it('are reclaimed from the slowest reader of the largest holder if all are in use for long', async () => {
    const origin = await openBackend((incoming, response) => {
      if (incoming.headers['x-consumer-id'] === 'con_good') response.end('ok')
      else response.end(Buffer.alloc(50_000_000))
    })
    const gateway = await openTestGateway({ backend: { origin, connections: 4, waitMs: 5_000 } })
    const sockets = await Promise.all(Array.from({ length: 4 }, () => gateway.open()))
    sockets.forEach((socket, index) => {
      socket.pause()
      socket.write(download(index < 2 ? 'a' : 'b'))
    })
    await new Promise((resolve) => sockets[3]!.once('readable', resolve))
    expect(await get(gateway, 'good')).toBe(200)
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
    for (const socket of sockets) socket.write(upload('Transfer-Encoding: chunked') + '1\r\nx\r\n')
    await gateway.recorded(8)
    for (let index = 0; index < 5; index++) expect(await get(gateway, 'good')).toBe(200)
    expect(gateway.revision.backend?.gate.hasFailed).toBe(false)
  })
})
