/** Connections to backends that verify the gateway by its certificate, and that the gateway verifies by authorities of their own. */

import { createServer, type ServerOptions } from 'node:https'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { createHealthProbe } from '../../../src/gateway/backend/health-probe.ts'
import type { BackendTls } from '../../../src/boundary/plan/route-plan.ts'
import { listen } from '../../fixtures/test-backend.ts'
import { createTestAuthority, type Certificate } from '../../fixtures/test-certificates.ts'
import { openTestGateway } from '../../fixtures/test-gateway.ts'

const authority = createTestAuthority()
const stranger = createTestAuthority()
// Only the setting of a backend may make the gateway trust these authorities.
setDefaultCACertificates(getCACertificates('bundled'))
afterAll(() => {
  stranger.remove()
  authority.remove()
})

const ca = authority.cert.toString()
const own = authority.signFor('clientAuth', 'gateway')
const other = stranger.signFor('clientAuth', 'gateway')
const expired = authority.signExpired('gateway')
const server = authority.sign('127.0.0.1')

const identity = ({ cert, key }: Certificate, authorities = ca): BackendTls => ({
  certificate: cert.toString(),
  key: key.toString(),
  ca: authorities,
})

async function openBackend(options: ServerOptions = {}) {
  const sockets = new Set<TLSSocket>()
  const secured = { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: true, ...options }
  const backend = createServer(secured, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate()
    response.end(`hello ${subject?.CN}`)
  })
  backend.on('secureConnection', (socket) => sockets.add(socket))
  backend.on('tlsClientError', () => {})
  const port = await listen(backend)
  onTestFinished(() => {
    backend.closeAllConnections()
    backend.close()
  })
  return { origin: `https://127.0.0.1:${port}`, sockets }
}

async function call(origin: string, tls?: BackendTls) {
  const gateway = await openTestGateway({ backend: { origin, ...(tls && { tls }) } })
  const answer = await gateway.raw('GET /things-v1/open HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const [{ outcome } = { outcome: null }] = await gateway.recorded(1)
  expect(gateway.faults).toEqual([])
  return { status: answer.slice(9, 12), outcome, answer }
}

const REFUSED = { status: '502', outcome: 'upstream_refused' }

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('A backend that requires a client certificate over %s', (maxVersion) => {
  it('gets the one of the gateway', async () => {
    const { origin } = await openBackend({ maxVersion })
    const { status, answer } = await call(origin, identity(own))
    expect(status).toBe('200')
    expect(answer).toContain('hello gateway')
  })

  // A server of Node ends the connection without an alert if the certificate does not verify.
  it.each<[string, BackendTls, string]>([
    ['none', { ca }, 'upstream_refused'],
    ['one of another authority', identity(other), 'upstream_broken'],
    ['an expired one', identity(expired), 'upstream_broken'],
  ])('refuses a gateway with %s', async (_, tls, outcome) => {
    const { origin, sockets } = await openBackend({ maxVersion })
    expect(await call(origin, tls)).toMatchObject({ status: '502', outcome })
    expect(sockets.size).toBe(0)
  })
})

describe('The gateway', () => {
  it.each<[string, ServerOptions, BackendTls | undefined]>([
    ['without authorities of its own, of which the public ones are none', {}, undefined],
    ['whose authorities are others', {}, identity(own, stranger.cert.toString())],
    ['with a certificate for another name', authority.sign('backend.example'), identity(own)],
    ['with an expired certificate', authority.signExpired('127.0.0.1'), identity(own)],
    ['with a certificate that it has signed itself', authority.selfSign('127.0.0.1'), identity(own)],
    ['with a certificate for clients', authority.signFor('clientAuth', '127.0.0.1'), identity(own)],
  ])('refuses a backend %s', async (_, options, tls) => {
    const { origin, sockets } = await openBackend({ ...options, requestCert: false })
    expect(await call(origin, tls)).toMatchObject(REFUSED)
    expect([...sockets].filter(({ destroyed }) => !destroyed)).toEqual([])
  })

  it('does not use the certificate of one revision on the connections of another', async () => {
    const { origin, sockets } = await openBackend({ rejectUnauthorized: false })
    const one = await openTestGateway({ backend: { origin, tls: identity(own) } })
    const two = await openTestGateway({ backend: { origin, tls: { ca } } })
    const names: (string | undefined)[] = []
    for (const gateway of [one, two, one, two]) {
      const answer = await gateway.raw('GET /things-v1/open HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
      names.push(/hello (\w+)/.exec(answer)?.[1])
    }
    expect(names).toEqual(['gateway', 'undefined', 'gateway', 'undefined'])
    expect(sockets.size).toBe(2)
  })
})

describe('A health probe', () => {
  async function probe(origin: string, tls?: BackendTls): Promise<boolean> {
    const { check, close } = createHealthProbe((_, base) => base)
    const backend = { origin, basePath: '', timeoutMs: 1_000, mayBePrivate: true, health: '/health' }
    const isOk = await check({ ...backend, ...(tls && { tls }) })
    await close()
    return isOk
  }

  it('uses the certificate and the authorities of its backend, and leaves no connection open', async () => {
    const { origin, sockets } = await openBackend()
    expect(await probe(origin, identity(own))).toBe(true)
    await Promise.all(
      [...sockets].map((socket) => socket.destroyed || new Promise((resolve) => socket.once('close', resolve))),
    )
    expect(await probe(origin, identity(other))).toBe(false)
    expect(await probe(origin, { ca })).toBe(false)
    expect(await probe(origin)).toBe(false)
  })

  it('fails if the key cannot be used', async () => {
    const { origin } = await openBackend()
    expect(await probe(origin, { ...identity(own), key: 'none' })).toBe(false)
  })
})
