/** WebSockets through the service: over TLS, their bill, and how a revocation and a stop end them. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createCertificateFolder, type CertificateFolder } from '../fixtures/certificate-folder.ts'
import { OWN_ADDRESS } from '../fixtures/own-address.ts'
import { createTestAuthority } from '../fixtures/test-certificates.ts'
import { openTlsSocket } from '../fixtures/tls-socket.ts'
import { connectPeer, echo, handshake, openWebSocketBackend, TEXT, type Peer } from '../fixtures/websocket-peers.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS, usedTypes } from './service.ts'
import { WITHIN } from './steady-clients.ts'

const MESSAGES = 100
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Chat', version: '1.0.0' },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
  security: [{ key: [] }],
  paths: {
    '/chat': {
      get: {
        operationId: 'chat',
        'x-tollgate-websocket': true,
        'x-tollgate-units': { per: 'message', reserve: 10 },
        responses: { 101: { description: 'a WebSocket' } },
      },
    },
  },
}
const DECLARATION = {
  opensla: '1.0.0',
  info: { title: 'Chat', version: '1.0.0' },
  quotas: { period: 'Monthly', resourceUnits: 1_000_000 },
}

const authority = createTestAuthority()
let folder: CertificateFolder
let service: Service
let caller: Enrolled

beforeAll(async () => {
  folder = createCertificateFolder(() => {})
  folder.put('gw', authority.sign(`gw.example.test,${OWN_ADDRESS}`))
  service = await createService({
    env: { ...TWO_THREADS, TLS_CERT_FILE: folder.at('gw.crt'), TLS_KEY_FILE: folder.at('gw.key') },
  })
  await service.start()
}, 120_000)

afterAll(async () => {
  await service.remove()
  folder.remove()
  authority.remove()
})

async function open(): Promise<Peer> {
  const socket = await openTlsSocket(Number(new URL(service.gatewayUrl).port), { host: OWN_ADDRESS })
  const { head, peer } = await connectPeer(socket, handshake('/chat-v1/chat', { 'X-Api-Key': caller.apiKey }))
  expect(head).toMatch(/^HTTP\/1\.1 101 /)
  return peer
}

it('bills messages, uses its credential, and ends with that and with the service', async () => {
  const { origin } = await openWebSocketBackend({ onPeer: (peer) => void echo(peer) })
  const specification = Buffer.from(JSON.stringify(DECLARATION)).toString('base64')
  await publish(service, 'chat-v1', DOCUMENT, origin)
  await service.platform.post('/v1/openslaspecs', { api: 'chat-v1', specification })
  caller = await enrol(service, 'chat-v1')

  const peer = await open()
  for (let message = 0; message < MESSAGES; message++) {
    peer.send(TEXT, `message ${message}`)
    expect(await peer.nextText()).toBe(`1 message ${message}`)
  }
  await expect.poll(() => usedTypes(service, caller.subscription), WITHIN).toEqual(['ApiKey'])
  await service.platform.post(`/v1/subscriptions/${caller.subscription}/suspend`)
  expect(await peer.nextText()).toBe('close 1008')
  const units = async (): Promise<number> => {
    const { items } = await service.platform.get<{ items: readonly { value: number }[] }>('/v1/summaries?api=chat-v1')
    return items.reduce((sum, { value }) => sum + value, 0)
  }
  await expect.poll(units, WITHIN).toBe(2 * MESSAGES)

  await service.platform.post(`/v1/subscriptions/${caller.subscription}/resume`)
  const last = await open()
  const stopped = service.stop()
  expect(await last.nextText()).toBe('close 1001')
  last.socket.end()
  expect(await stopped).toBe(0)
})
