import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { once } from 'node:events'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import type { TlsPlan } from '../../../../src/foundation/tls/tls-plan.ts'
import { refuseMalformed } from '../../../../src/interfaces/platform/http-bounds.ts'
import { SecureServers } from '../../../../src/interfaces/platform/secure-servers.ts'
import { listen, received } from '../../../fixtures/test-backend.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const authority = createTestAuthority()
afterAll(() => authority.remove())

function planOf(host: string): TlsPlan {
  const { cert, key } = authority.sign(host)
  const fallback = { names: [host], cert: cert.toString(), key: key.toString() }
  return { fallback, others: [], clientCa: null, ticketKeys: Buffer.alloc(48, 1) }
}

async function open(handshakeWithinMs?: number) {
  const servers = new SecureServers(planOf('first.example.test'), handshakeWithinMs)
  const server = servers.create((_, response) => response.end('served'))
  // As fastify does.
  server.on('clientError', (error, socket) => refuseMalformed(error, socket as never, 'req'))
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { servers, port }
}

async function nameAt(port: number): Promise<unknown> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'any.example.test', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return CN
}

it.each([
  ['nothing', ''],
  ['a part of its first message', '\x16\x03\x01'],
])('ends a connection whose client has sent %s in time', async (_, text) => {
  const { port } = await open(50)
  const socket = connect(port, '127.0.0.1')
  socket.write(text, 'latin1')
  expect(await received(socket)).toBe('')
})

it('presents changed certificates on every server', async () => {
  const { servers, port } = await open()
  expect(await nameAt(port)).toBe('first.example.test')
  servers.present(planOf('second.example.test'))
  expect(await nameAt(port)).toBe('second.example.test')
})
