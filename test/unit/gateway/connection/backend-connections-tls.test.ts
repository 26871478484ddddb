/** Connections over TLS to real servers, with certificates of a test authority. */

import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import type { SecureVersion, TLSSocket } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { toOutcome } from '../../../../src/gateway/backend/upstream-failure.ts'
import { openConnections } from '../../../../src/gateway/connection/backend-connections.ts'
import { findHttpParser } from '../../../../src/gateway/connection/http1/http-parser.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'
import { start } from './exchanges.ts'

const authority = createTestAuthority()
afterAll(authority.remove)

const servers = { right: authority.sign('backend.test'), other: authority.sign('elsewhere.test') }

setFlagsFromString('--expose-gc')
/** Frees what is referenced weakly only. */
const collectGarbage = runInNewContext('gc') as () => void

const lookup: LookupFunction = (_host, { all }, done) =>
  all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)

describe.each([
  ['our own connections', findHttpParser()],
  ['the fallback', null],
])('connections over TLS: %s', (_, parser) => {
  async function open(certificate: keyof typeof servers, maxVersion: SecureVersion = 'TLSv1.3') {
    const sockets: TLSSocket[] = []
    const reused: (boolean | null)[] = []
    // `Connection: close` makes each exchange open a connection.
    const server = createServer({ ...servers[certificate], maxVersion }, (request, response) =>
      response.writeHead(200, { connection: 'close' }).end(`heard ${request.url}`.repeat(5_000)),
    )
    server.on('secureConnection', (socket: TLSSocket) => {
      sockets.push(socket)
      reused.push(socket.isSessionReused())
    })
    server.on('tlsClientError', () => {})
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const origin = `https://backend.test:${(server.address() as AddressInfo).port}`
    const connections = openConnections({ origin, connections: 2, connect: { allowH2: false, lookup } }, parser)
    onTestFinished(() => {
      connections.close()
      server.closeAllConnections()
      server.close()
    })
    return { connections, sockets, reused }
  }

  it.each<SecureVersion>(['TLSv1.3', 'TLSv1.2'])(
    'send the name of the host, and use the session of %s again',
    async (version) => {
      const { connections, sockets, reused } = await open('right', version)
      for (let count = 0; count < 3; count++) {
        expect((await start(connections, { path: '/a' }).answered).body).toBe('heard /a'.repeat(5_000))
        // Not within the turn that has used the session: its weak references last as long.
        await new Promise((resolve) => setImmediate(resolve))
        collectGarbage()
      }
      // With TLS 1.2, Node reports no name for a session that is used again.
      const names = sockets.map(({ servername }) => servername)
      expect(names).toEqual(version === 'TLSv1.3' ? Array(3).fill('backend.test') : ['backend.test', false, false])
      expect(sockets.map((socket) => socket.alpnProtocol)).toEqual(['http/1.1', 'http/1.1', 'http/1.1'])
      expect(reused).toEqual([false, true, true])
    },
  )

  it('send nothing to a server whose certificate is for another name', async () => {
    const { connections, sockets } = await open('other')
    const fault = await start(connections).answered.catch((cause: NodeJS.ErrnoException) => cause)
    expect(fault).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    expect(toOutcome((fault as NodeJS.ErrnoException).code ?? '')).toBe('upstream_refused')
    expect(sockets.map(({ bytesRead }) => bytesRead).every((bytes) => bytes === 0)).toBe(true)
  })
})
