/** Slow clients of the OAuth paths are disconnected. */

import { describe, expect, it } from 'vitest'
import { createOauthHandler } from '../../../src/gateway/oauth/oauth-server.ts'
import { toResponseFields } from '../../../src/gateway/connection/response-fields.ts'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'

const UPLOADS = { windowMs: 100, bytesPerSecondMin: 1_000, totalMs: 600_000 }
const READERS = { windowMs: 100, pendingBytesMax: 1e9, scanEveryMs: 20 }

describe('an OAuth request whose body never ends', () => {
  it('is disconnected after one window, and its body is left to the OAuth server', async () => {
    const origin = await openBackend((_, response) => response.end())
    const bodies: string[] = []
    const gateway = await openTestGateway({
      backend: { origin },
      uploads: UPLOADS,
      server: {
        oauth(request, response) {
          // The OAuth server must get the whole body even if it starts to read later.
          setImmediate(() => {
            let body = ''
            request.on('data', (chunk) => (body += chunk))
            request.on('end', () => {
              bodies.push(body)
              response.start(200, toResponseFields([]))
              response.end('token')
            })
          })
          return true
        },
      },
    })
    const form = 'POST /things-v1/oauth2/v2/token HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\n'
    expect(await gateway.raw(`${form}hello`)).toContain('token')
    expect(bodies).toEqual(['hello'])
    expect(await gateway.raw(`${form}he`)).toBe('')
  })
})

describe('a client that does not read an OAuth response', () => {
  it('is disconnected and counted', async () => {
    const origin = await openBackend((_, response) => response.end())
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const gateway = await openTestGateway({
      backend: { origin },
      readers: READERS,
      server: {
        oauth(_, response) {
          response.once('close', () => close())
          response.start(200, toResponseFields([]))
          response.end(Buffer.alloc(50_000_000))
          return true
        },
      },
    })
    const socket = await gateway.open()
    socket.pause()
    socket.write('GET /things-v1/.well-known/keys HTTP/1.1\r\nHost: a\r\n\r\n')
    await closed
    expect([...gateway.counts]).toEqual([['client_too_slow', 1]])
  })
})

describe('an OAuth request with a body above the limit', () => {
  it.each([
    ['20 KB', 20_000],
    ['3 MB', 3_000_000],
  ])('gets 413, and its connection is closed after %s of it', async (_, bytes) => {
    const oauth = createOauthHandler({
      gatewayUrl: 'http://gateway.example',
      execute: () => Promise.reject(new Error('not reached')),
      jwks: () => ({ keys: [] }),
      scopesOf: () => [],
    })
    const origin = await openBackend((_request, response) => response.end())
    const gateway = await openTestGateway({ backend: { origin }, server: { oauth } })
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9000000000\r\n'
    const answer = await gateway.raw(
      `POST /things-v1/oauth2/v2/token HTTP/1.1\r\nHost: a\r\n${form}\r\n${'x'.repeat(bytes)}`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 413 [^]*\r\nConnection: close\r\n/)
  })
})
