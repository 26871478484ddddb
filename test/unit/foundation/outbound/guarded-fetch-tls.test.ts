/** Outbound requests over TLS to real servers, with certificates of a test authority. */

import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { createGuardedFetch } from '../../../../src/foundation/outbound/guarded-fetch.ts'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const authority = createTestAuthority()
afterAll(authority.remove)

const servers = {
  right: authority.sign('receiver.test'),
  other: authority.sign('elsewhere.test'),
  own: authority.selfSign('receiver.test'),
}

async function ask(certificate: keyof typeof servers) {
  const names: (string | false | null)[] = []
  const server = createServer(servers[certificate], (request, response) => {
    names.push((request.socket as TLSSocket).servername)
    response.end(`heard ${request.headers.host}`)
  })
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const resolve = async () => [{ address: '127.0.0.1', family: 4 as const }]
  const guarded = createGuardedFetch({ clock: systemClock, allowPrivate: true, resolve })
  onTestFinished(guarded.close)
  const url = `https://receiver.test:${port}/hook`
  const result = await guarded.fetch({ url, method: 'POST', body: '{}', timeoutMs: 5_000, bytesMax: 1_000 })
  return { result, names, host: `receiver.test:${port}` }
}

it('an outbound request reaches a receiver whose certificate matches its name, and sends that name (SNI)', async () => {
  const { result, names, host } = await ask('right')
  expect(result).toMatchObject({ kind: 'answered', status: 200 })
  expect(result.kind === 'answered' && result.body.toString()).toBe(`heard ${host}`)
  expect(names).toEqual(['receiver.test'])
})

it.each([
  ['is for another name', 'other', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['is self-signed', 'own', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
] as const)('an outbound request sends nothing to a receiver whose certificate %s', async (_, certificate, code) => {
  const { result, names } = await ask(certificate)
  expect(result).toEqual({ kind: 'failed', reason: 'unreachable', detail: `The host could not be reached (${code}).` })
  expect(names).toEqual([])
})
