/** Client certificates of real connections, as a call of the connection reads them. */

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { clientCertificateOf, isValidAt, thumbprintAt } from '../../../../src/gateway/connection/client-certificate.ts'
import { createClientServer } from '../../../../src/gateway/connection/client-server.ts'
import type { ClientServer } from '../../../../src/gateway/connection/client.ts'
import { nodeParser } from '../../../../src/gateway/connection/parser-choice.ts'
import { toResponseFields } from '../../../../src/gateway/connection/response-fields.ts'
import type { CertificatePlan, TlsPlan } from '../../../../src/foundation/tls/tls-plan.ts'
import { listen } from '../../../fixtures/test-backend.ts'
import { createTestAuthority, thumbprintOf, type Certificate } from '../../../fixtures/test-certificates.ts'
import { openTlsSocket } from '../../../fixtures/tls-socket.ts'

const authority = createTestAuthority()
const others = createTestAuthority()
afterAll(() => {
  others.remove()
  authority.remove()
})

const gateway = toPlan('gw.example.test')
const api = toPlan('api.example.test')
const shop = authority.signFor('clientAuth', 'shop')
const bank = authority.sign('bank')
const stranger = others.signFor('clientAuth', 'shop')

function toPlan(name: string): CertificatePlan {
  const { cert, key } = authority.sign(name)
  return { names: [name], cert: cert.toString(), key: key.toString() }
}

function planOf(clientCa: string | null = authority.cert.toString()): TlsPlan {
  return { fallback: gateway, others: [api], clientCa, ticketKeys: Buffer.alloc(48, 1) }
}

interface Opened {
  readonly server: ClientServer
  open(options?: ConnectionOptions): Promise<TLSSocket>
}

/** A server that answers with the thumbprint of the client certificate. */
async function openServer(parser: typeof nodeParser, plan = planOf()): Promise<Opened> {
  const server = createClientServer(
    {
      connectionsMax: 100,
      tls: plan,
      trustedProxies: [],
      count: () => {},
      onFault: (cause) => expect.unreachable(String(cause)),
      onRequest(request, response) {
        const text = clientCertificateOf(request.socket)?.thumbprint ?? 'none'
        request.on('end', () => {
          response.start(200, toResponseFields(['Content-Length', String(text.length)]))
          response.endWith(text, false)
        })
        request.resume()
      },
    },
    parser,
  )
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    server,
    open: (options) => openTlsSocket(port, options),
  }
}

async function ask(socket: TLSSocket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString().split('\r\n\r\n')[1]!
}

/** Asks twice: over a first connection, and over one that resumes its session. */
async function askAgain(one: Opened, options: ConnectionOptions, other = one): Promise<[string, string]> {
  const socket = await one.open(options)
  const first = await ask(socket)
  // The server has sent the ticket before its answer.
  const resumed = await other.open({ ...options, session: socket.getSession() })
  expect(resumed.isSessionReused()).toBe(true)
  return [first, await ask(resumed)]
}

const CASES: readonly (readonly [string, Certificate | null, string])[] = [
  ['a certificate for clients', shop, thumbprintOf(shop)],
  ['a certificate for any purpose', bank, thumbprintOf(bank)],
  ['no certificate', null, 'none'],
  ['a certificate of another authority', stranger, 'none'],
  ['a certificate that it has signed itself', authority.selfSign('shop'), 'none'],
  ['a certificate for servers', authority.signFor('serverAuth', 'shop'), 'none'],
]

it.each(CASES)('reads of a client over HTTP/2 with %s', async (_name, certificate, expected) => {
  const { open } = await openServer(nodeParser)
  const socket = await open({ ...certificate, ALPNProtocols: ['h2'] })
  const session = connectHttp2('https://gw.example.test', { createConnection: () => socket })
  onTestFinished(() => session.destroy())
  for (let call = 0; call < 2; call++) {
    const stream = session.request({ ':path': '/' })
    expect((await stream.setEncoding('utf8').toArray()).join('')).toBe(expected)
  }
})

describe.each([
  ['our own connections', nodeParser],
  ['node:http', null],
] as const)('with %s', (_, parser) => {
  it.each(CASES)('reads of a client with %s', async (_name, certificate, expected) => {
    const { open } = await openServer(parser)
    const socket = await open({ ...certificate })
    expect(await ask(socket)).toBe(expected)
    expect(await ask(socket)).toBe(expected)
    expect(await ask(await open({ ...certificate, servername: 'api.example.test' }))).toBe(expected)
  })

  describe.each(['TLSv1.2', 'TLSv1.3'] as const)('over %s', (version) => {
    it.each(CASES)('reads the same of a resumed session of a client with %s', async (_name, certificate, expected) => {
      const [one, other] = [await openServer(parser), await openServer(parser)]
      const options = { ...certificate, minVersion: version, maxVersion: version }
      expect(await askAgain(one, options)).toEqual([expected, expected])
      expect(await askAgain(one, options, other)).toEqual([expected, expected])
    })
  })

  it('reads none over a session that began where no certificates are asked for', async () => {
    const [plain, asking] = [await openServer(parser, planOf(null)), await openServer(parser)]
    expect(await askAgain(plain, { ...shop }, asking)).toEqual(['none', 'none'])
  })

  it('checks new connections against changed authorities', async () => {
    const { server, open } = await openServer(parser)
    server.secure?.({ ...planOf(others.cert.toString()), ticketKeys: Buffer.alloc(48, 2) })
    expect(await ask(await open({ ...stranger }))).toBe(thumbprintOf(stranger))
    expect(await ask(await open({ ...shop }))).toBe('none')
    expect(await ask(await open({ ...shop, servername: 'api.example.test' }))).toBe('none')
  })
})

describe('a client certificate', () => {
  const { validFromDate, validToDate } = new X509Certificate(shop.cert)
  const [startsMs, endsMs] = [validFromDate.getTime(), validToDate.getTime()]
  const certificate = { thumbprint: thumbprintOf(shop), startsMs, endsMs }

  it.each([
    [startsMs - 1, false],
    [startsMs, true],
    [endsMs, true],
    [endsMs + 1, false],
  ])('counts at %d: %s', (nowMs, isValid) => {
    expect(isValidAt(certificate, nowMs)).toBe(isValid)
  })

  it('is missing without TLS', () => {
    expect(clientCertificateOf(new Socket())).toBe(null)
    expect(thumbprintAt(new Socket(), startsMs)).toBe(null)
  })
})
