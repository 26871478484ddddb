import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createForwarded } from '../../../../src/gateway/headers/identity-headers.ts'
import { createClientAddress } from '../../../../src/foundation/runtime/client-address.ts'
import { openBackend, openTestGateway } from '../../../fixtures/test-gateway.ts'

/** Sends a call with these lines, and returns the headers that the backend receives; null if the gateway refuses it. */
async function forward(proxies: readonly string[], lines: readonly string[]): Promise<IncomingHttpHeaders | null> {
  let seen: IncomingHttpHeaders | null = null
  const origin = await openBackend((request, response) => {
    seen = request.headers
    response.end('{}')
  })
  const clientAddress = createClientAddress(proxies)
  const { raw } = await openTestGateway({ backend: { origin }, send: { clientAddress } })
  await raw(['GET /things-v1/open HTTP/1.1', 'Host: gateway', 'Connection: close', ...lines, '', ''].join('\r\n'))
  return seen
}

describe('the address of the client that backends receive', () => {
  it.each([[[]], [['10.0.0.0/8']]])('names the protocol of the connection, with the trusted proxies %j', (proxies) => {
    const socket = { remoteAddress: '203.0.113.9', encrypted: true } as never
    const toLines = createForwarded(createClientAddress(proxies))
    const lines = toLines({ socket, request: { socket, rawHeaders: [] } }, 'gateway')
    expect(lines).toContain('proto=https')
    expect(lines).toContain('X-Forwarded-Proto: https\r\n')
  })

  it.each([
    ['X-Forwarded-For: 203.0.113.9'],
    ['Forwarded: for=203.0.113.9', 'X-Real-IP: 203.0.113.9'],
    ['X-Forwarded-For: ::1', 'X-Forwarded-For: 10.0.0.1'],
  ])('is that of the connection without trusted proxies: %s', async (...lines) => {
    const headers = await forward([], lines)
    expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' })
    expect(headers?.['forwarded']).toBe('for=127.0.0.1;host="gateway";proto=http')
  })

  it.each([
    ['127.0.0.1', ['X-Forwarded-For: 1.2.3.4, 203.0.113.9'], 'for=203.0.113.9', '203.0.113.9'],
    ['127.0.0.1', ['x-forwarded-FOR: 1.2.3.4', 'X-FORWARDED-FOR: 203.0.113.9'], 'for=203.0.113.9', '203.0.113.9'],
    ['127.0.0.0/8', ['X-Forwarded-For: 203.0.113.9,127.0.0.2'], 'for=203.0.113.9', '203.0.113.9'],
    ['127.0.0.1', ['X-Forwarded-For: [2001:DB8::9]:1'], 'for="[2001:db8::9]"', '2001:db8::9'],
    ['127.0.0.1', ['X-Forwarded-For: unknown'], 'for=127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', ['X-Forwarded-For:'], 'for=127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', [`X-Forwarded-For: ${'1,'.repeat(5_000)}203.0.113.9`], 'for=203.0.113.9', '203.0.113.9'],
    ['127.0.0.1', [`X-Forwarded-For: 203.0.113.9, ${','.repeat(5_000)}`], 'for=127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', ['X-Forwarded-For: 203.0.113.9";proto=https;by="x'], 'for=127.0.0.1', '127.0.0.1'],
    ['10.0.0.1', ['X-Forwarded-For: 203.0.113.9'], 'for=127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', ['Forwarded: for=203.0.113.9', 'X-Real-IP: 203.0.113.9'], 'for=127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', ['Connection: x-forwarded-for', 'X-Forwarded-For: 203.0.113.9'], 'for=203.0.113.9', '203.0.113.9'],
  ])('is read from the header of the proxy %s: %.80s', async (proxy, lines, node, address) => {
    const headers = await forward([proxy], lines)
    expect(headers?.['x-forwarded-for']).toBe(address)
    expect(headers?.['forwarded']).toBe(`${node};host="gateway";proto=http`)
  })
})

it.each([
  ['127.0.0.1', ['X-Forwarded-Proto: https'], 'https'],
  ['127.0.0.1', ['x-forwarded-proto:  HTTPS '], 'https'],
  // The entry of the proxy is the last one; a client may have sent the others.
  ['127.0.0.1', ['X-Forwarded-Proto: https, http'], 'http'],
  ['127.0.0.1', ['X-Forwarded-Proto: http', 'X-Forwarded-Proto: https'], 'https'],
  ['127.0.0.1', ['X-Forwarded-Proto: https;host=evil'], 'http'],
  ['127.0.0.1', ['X-Forwarded-Proto: wss'], 'http'],
  ['127.0.0.1', ['Forwarded: proto=https', 'X-Forwarded-Scheme: https'], 'http'],
  ['10.0.0.1', ['X-Forwarded-Proto: https'], 'http'],
])('A backend receives the protocol that the proxy %s names, if it is trusted: %j', async (proxy, lines, protocol) => {
  const headers = await forward([proxy], lines)
  expect(headers?.['x-forwarded-proto']).toBe(protocol)
  expect(headers?.['forwarded']).toBe(`for=127.0.0.1;host="gateway";proto=${protocol}`)
})

it('Calls of one connection have the address that each of them names', async () => {
  const seen: unknown[] = []
  const origin = await openBackend((request, response) => {
    seen.push(request.headers['x-forwarded-for'])
    response.end('{}')
  })
  const send = { clientAddress: createClientAddress(['127.0.0.1']) }
  const { raw } = await openTestGateway({ backend: { origin }, send })
  const call = (address: string, connection: string): string =>
    `GET /things-v1/open HTTP/1.1\r\nHost: gateway\r\nConnection: ${connection}\r\nX-Forwarded-For: ${address}\r\n\r\n`
  await raw(call('203.0.113.1', 'keep-alive') + call('203.0.113.2', 'close'))
  expect(seen).toEqual(['203.0.113.1', '203.0.113.2'])
})
