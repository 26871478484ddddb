/** Outbound requests to a real server. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createGuardedFetch, type OutboundRequest } from '../../../../src/foundation/outbound/guarded-fetch.ts'
import { createGuardedLookup, type Resolve } from '../../../../src/foundation/outbound/guarded-lookup.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const closing: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: IncomingMessage[] = []
  const server: Server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, requests, server }
}

function open(resolve?: Resolve, allowPrivate = true) {
  const clock = createFakeClock(0)
  const guarded = createGuardedFetch({ clock, allowPrivate, ...(resolve !== undefined && { resolve }) })
  closing.push(guarded.close)
  const fetch = (url: string, more: Partial<OutboundRequest> = {}) =>
    guarded.fetch({ url, timeoutMs: 1_000, bytesMax: 1_000, ...more })
  return { fetch, clock }
}

const loopback: Resolve = async () => [{ address: '127.0.0.1', family: 4 }]

describe('an outbound request', () => {
  it('returns the response, whatever its status', async () => {
    const { port } = await serve((request, response) => {
      response.writeHead(418, { 'X-Method': request.method }).end('short and stout')
    })
    const { fetch } = open(loopback)
    const result = await fetch(`http://tea.example:${port}/pot?a=b`, { method: 'POST', body: 'hello' })
    expect(result).toMatchObject({ kind: 'answered', status: 418, headers: { 'x-method': 'POST' } })
    expect(result.kind === 'answered' && result.body.toString()).toBe('short and stout')
  })

  it('does not follow redirects', async () => {
    const { port, requests } = await serve((_, response) => response.writeHead(302, { Location: '/elsewhere' }).end())
    const { fetch } = open(loopback)
    expect(await fetch(`http://tea.example:${port}/`)).toMatchObject({ kind: 'answered', status: 302 })
    expect(requests).toHaveLength(1)
  })

  it('fails if the response exceeds the size limit, with or without Content-Length', async () => {
    const { port } = await serve(({ url }, response) => {
      if (url === '/told') return response.writeHead(200, { 'Content-Length': 1_001 }).end('x'.repeat(1_001))
      for (let index = 0; index < 100; index++) response.write('x'.repeat(1_000))
      return response.end()
    })
    const { fetch } = open(loopback)
    for (const path of ['/told', '/untold'])
      expect(await fetch(`http://tea.example:${port}${path}`)).toMatchObject({ kind: 'failed', reason: 'too_large' })
    expect(await fetch(`http://tea.example:${port}/told`, { bytesMax: 1_001 })).toMatchObject({ kind: 'answered' })
  })

  it('has one time limit, which also covers a response that never ends', async () => {
    for (const answers of [false, true]) {
      const begun = Promise.withResolvers<void>()
      const { port } = await serve((_, response) => {
        if (answers) response.write('a little')
        begun.resolve()
      })
      const { fetch, clock } = open(loopback)
      const result = fetch(`http://tea.example:${port}/`)
      await begun.promise
      clock.advanceSync(1_000)
      expect(await result).toMatchObject({ kind: 'failed', reason: 'timed_out' })
      expect(clock.pending).toBe(0)
    }
  })

  it('has a time limit that also covers a resolver that never answers', async () => {
    const never = Promise.withResolvers<never>()
    const { fetch, clock } = open(() => never.promise)
    const result = fetch('http://tea.example/')
    clock.advanceSync(1_000)
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timed_out' })
    never.reject(new Error('too late'))
  })

  it('fails as unreachable if no connection can be made', async () => {
    const { port, server } = await serve(() => {})
    server.close()
    const { fetch } = open(loopback)
    expect(await fetch(`http://tea.example:${port}/`)).toMatchObject({ kind: 'failed', reason: 'unreachable' })
    const lost = open(() => Promise.reject(new Error('NXDOMAIN')))
    expect(await lost.fetch('http://tea.example/')).toMatchObject({ kind: 'failed', reason: 'unreachable' })
  })

  it('makes no connection if any address of the host is private', async () => {
    for (const addresses of [['127.0.0.1'], ['1.1.1.1', '10.0.0.1'], ['2400::1', '::ffff:127.0.0.1'], ['fe80::1%lo']]) {
      const { fetch } = open(
        async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        false,
      )
      const result = await fetch('https://rebind.example/')
      expect(result, addresses.join()).toMatchObject({ kind: 'failed', reason: 'address_refused' })
      expect(JSON.stringify(result)).not.toContain(addresses[0])
    }
  })

  it('makes no DNS query if the URL itself is refused', async () => {
    let asked = 0
    const { fetch } = open(async () => {
      asked++
      return []
    }, false)
    for (const url of [
      'http://tea.example/',
      'https://127.0.0.1/',
      'https://tea.example:22/',
      'https://a@tea.example/',
    ])
      expect(await fetch(url)).toMatchObject({ kind: 'failed', reason: 'url_refused' })
    expect(asked).toBe(0)
  })
})

describe('a guarded look-up', () => {
  it('runs once for a connection, which then uses the checked address', async () => {
    const { port, requests } = await serve((_, response) => response.end('here'))
    const answers = [[{ address: '127.0.0.1', family: 4 }]]
    let asked = 0
    const { fetch } = open(async () => answers[asked++] ?? [{ address: '127.0.0.2', family: 4 }])
    expect(await fetch(`http://rebind.example:${port}/`)).toMatchObject({ kind: 'answered' })

    expect(asked).toBe(1)
    expect(requests.map(({ socket }) => socket.localAddress)).toEqual(['127.0.0.1'])
  })

  it('returns exactly the addresses that it has checked, for one address and for all', async () => {
    const checked: string[] = []
    const lookup = createGuardedLookup(
      async () => [
        { address: '1.1.1.1', family: 4 },
        { address: '2400::1', family: 6 },
      ],
      (address) => checked.push(address) > 0,
    )
    const all = Promise.withResolvers<unknown>()
    lookup('host.example', { all: true }, (error, addresses) => all.resolve(error ?? addresses))
    expect(await all.promise).toEqual([
      { address: '1.1.1.1', family: 4 },
      { address: '2400::1', family: 6 },
    ])
    expect(checked).toEqual(['1.1.1.1', '2400::1'])
    const one = Promise.withResolvers<unknown>()
    lookup('host.example', {}, (error, address, family) => one.resolve(error ?? [address, family]))
    expect(await one.promise).toEqual(['1.1.1.1', 4])
  })
})
