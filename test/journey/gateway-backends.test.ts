/** The gateway and backends that misbehave: each fault has its status and code. */

import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { bearerOf, callGateway, document, listen } from './things-api.ts'

let service: Service
let broken: Server
let brokenUrl: string
let caller: Enrolled

beforeAll(async () => {
  broken = createServer(misbehave)
  brokenUrl = await listen(broken)
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'broken-v1', document('Broken'), brokenUrl)
  await publish(service, 'gone-v1', document('Gone'), 'http://127.0.0.1:1')
  caller = await enrol(service, 'broken-v1')
})

afterAll(async () => {
  await service.remove()
  broken.close()
})

/** Answers by the requested path. */
function misbehave(socket: Socket): void {
  socket.on('error', () => {})
  socket.once('data', (data) => {
    const how = /^GET \/(\w+)/.exec(data.toString())?.[1]
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'
    if (how === 'reset') socket.resetAndDestroy()
    else if (how === 'short') socket.end(`${head}Content-Length: 100\r\n\r\nonly this`)
    else if (how === 'middle') {
      socket.write(`${head}Content-Length: 1000000\r\n\r\n${'x'.repeat(200_000)}`, () =>
        setImmediate(() => socket.resetAndDestroy()),
      )
    } else if (how === 'chunked') socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
    else if (how === 'garbage') socket.end('this is not HTTP\r\n\r\n')
  })
}

const call = (path: string, options?: Parameters<typeof callGateway>[2]) => callGateway(service, path, options)

describe('a call to a backend', () => {
  it.each([
    ['/broken-v1/reset', 502, 'upstream_broken'],
    ['/broken-v1/garbage', 502, 'upstream_broken'],
  ])('that fails at %s is answered %i %s', async (path, status, code) => {
    const answer = await call(path, { headers: await bearerOf(caller) })
    expect([answer.status, answer.code]).toEqual([status, code])
  })

  it('that refuses connections is answered 502 upstream_refused', async () => {
    const gone = await enrol(service, 'gone-v1')
    const answer = await call('/gone-v1/things', { headers: await bearerOf(gone) })
    expect([answer.status, answer.code]).toEqual([502, 'upstream_refused'])
  })

  it('that closes the connection during its response is aborted', async () => {
    const headers = await bearerOf(caller)
    await expect(call('/broken-v1/middle', { headers })).rejects.toThrow()
    await expect(call('/broken-v1/chunked', { headers })).rejects.toThrow()
    await expect(call('/broken-v1/short', { headers })).rejects.toThrow()
  })

  // The last test, because it changes the time limit of the API.
  it('that does not respond is answered 504 after the time limit', async () => {
    const { items } = await service.platform.get<{ items: readonly { id: string }[] }>('/v1/proxies?api=broken-v1')
    const specification = Buffer.from(JSON.stringify(document('Broken'))).toString('base64')
    await service.platform.post('/v1/proxies', {
      api: 'broken-v1',
      specification,
      backend: { url: brokenUrl, timeoutMs: 100 },
    })
    await service.platform.post(`/v1/proxies/${items[0]?.id}/activate`)
    const answer = await call('/broken-v1/silent', { headers: await bearerOf(caller) })
    expect([answer.status, answer.code]).toEqual([504, 'upstream_timeout'])
  })
})

describe('a backend that leads back to the gateway', () => {
  it('is answered 508 loop_detected after one pass', async () => {
    await publish(service, 'loop-v1', document('Loop'), `${service.gatewayUrl}/loop-v1`)
    const answer = await call('/loop-v1/public')
    expect([answer.status, answer.code]).toEqual([508, 'loop_detected'])
  })
})
