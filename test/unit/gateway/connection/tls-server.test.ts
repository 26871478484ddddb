import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session, type SecureClientSessionOptions } from 'node:http2'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { createClientServer } from '../../../../src/gateway/connection/client-server.ts'
import type { ClientServer } from '../../../../src/gateway/connection/client.ts'
import { nodeParser } from '../../../../src/gateway/connection/parser-choice.ts'
import { toResponseFields } from '../../../../src/gateway/connection/response-fields.ts'
import type { CertificatePlan, TlsPlan } from '../../../../src/foundation/tls/tls-plan.ts'
import { listen, received } from '../../../fixtures/test-backend.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'
import { openTlsSocket, type TlsClientOptions } from '../../../fixtures/tls-socket.ts'

const authority = createTestAuthority()
afterAll(() => authority.remove())

function certify(...names: readonly string[]): CertificatePlan {
  const { cert, key } = authority.sign(names.join(','))
  return { names, cert: cert.toString(), key: key.toString() }
}

const gateway = certify('gw.example.test')
const api = certify('api.example.test')
const wild = certify('*.example.test')

function planOf(changes: Partial<TlsPlan> = {}): TlsPlan {
  return { fallback: gateway, others: [api, wild], clientCa: null, ticketKeys: Buffer.alloc(48, 1), ...changes }
}

interface Opened {
  readonly server: ClientServer
  readonly port: number
  readonly counts: readonly string[]
  /** Opens a connection; rejects if the handshake fails. */
  open(options?: TlsClientOptions): Promise<TLSSocket>
  /** Opens a connection without TLS. */
  openTcp(): Promise<Socket>
}

async function openTls(plan = planOf(), parser = nodeParser): Promise<Opened> {
  const counts: string[] = []
  const server = createClientServer(
    {
      connectionsMax: 100,
      tls: plan,
      trustedProxies: [],
      count: (reason) => void counts.push(reason),
      onFault: (cause) => expect.unreachable(String(cause)),
      onRequest(request, response) {
        let bytes = 0
        request.on('data', (chunk) => (bytes += chunk.length))
        request.on('end', () => {
          const text = `${request.url} ${bytes}`
          response.start(200, toResponseFields(['Content-Length', String(text.length)]))
          response.endWith(text, false)
        })
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
    port,
    counts,
    open: (options) => openTlsSocket(port, options),
    async openTcp() {
      const socket = connectTcp(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      await once(socket, 'connect')
      return socket
    },
  }
}

const nameOf = (socket: TLSSocket): string => socket.getPeerCertificate().subject.CN as string

async function ask(socket: TLSSocket, path = '/', body = ''): Promise<string> {
  socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString().split('\r\n\r\n')[1]!
}

describe('HTTP/2', () => {
  async function openSession({ port }: Opened, options: SecureClientSessionOptions = {}): Promise<ClientHttp2Session> {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { servername: 'gw.example.test', ...options })
    onTestFinished(() => session.destroy())
    await once(session, 'connect')
    return session
  }

  async function askOver(session: ClientHttp2Session, path: string, body: string): Promise<string> {
    const stream = session.request({ ':method': 'POST', ':path': path, ':authority': 'gw.example.test' })
    stream.end(body)
    return (await stream.setEncoding('utf8').toArray()).join('')
  }

  it('is chosen by clients that prefer it, over each certificate', async () => {
    const opened = await openTls()
    for (const servername of ['gw.example.test', 'api.example.test']) {
      const session = await openSession(opened, { servername })
      expect(session.alpnProtocol).toBe('h2')
      const answers = await Promise.all(['/a', '/b', '/c'].map((path) => askOver(session, path, 'body')))
      expect(answers).toEqual(['/a 4', '/b 4', '/c 4'])
    }
  })

  it.each([[['http/1.1']], [undefined]])('is not forced on a client that offers %j', async (ALPNProtocols) => {
    const { open } = await openTls()
    const socket = await open(ALPNProtocols === undefined ? {} : { ALPNProtocols })
    expect(await ask(socket, '/one')).toBe('/one 0')
  })

  it('is not offered by node:http', async () => {
    const { open } = await openTls(planOf(), null)
    const socket = await open({ ALPNProtocols: ['h2', 'http/1.1'] })
    expect(socket.alpnProtocol).toBe('http/1.1')
  })

  it('goes on over a connection whose certificate has changed, and ends when the server leaves', async () => {
    const opened = await openTls()
    const session = await openSession(opened)
    opened.server.secure?.(planOf({ fallback: certify('gw.example.test') }))
    expect(await askOver(session, '/after', '')).toBe('/after 0')
    const ended = once(session, 'close')
    opened.server.leave()
    await ended
  })

  it('closes connections without a stream, and all of them', async () => {
    const opened = await openTls()
    for (const close of ['closeIdleConnections', 'closeAllConnections'] as const) {
      const session = await openSession(opened)
      session.on('error', () => {})
      await askOver(session, '/a', '')
      // A server that stops repeats it: what its socket still holds is not lost.
      await expect.poll(() => (opened.server[close](), session.destroyed)).toBe(true)
    }
  })
})

describe.each([
  ['our own connections', nodeParser],
  ['node:http', null],
] as const)('with %s', (_, parser) => {
  const open = (plan?: TlsPlan): Promise<Opened> => openTls(plan, parser)

  it.each([
    ['gw.example.test', 'gw.example.test'],
    ['api.example.test', 'api.example.test'],
    ['API.example.test', 'api.example.test'],
    ['other.example.test', '*.example.test'],
  ])('presents to a client that names %s the certificate of %s', async (servername, name) => {
    const { open: connectTo } = await open()
    const socket = await connectTo({ servername })
    expect([nameOf(socket), socket.authorized]).toEqual([name, true])
    expect(await ask(socket, '/a', 'body')).toBe('/a 4')
  })

  it.each(['a.b.example.test', 'example.test', '', 'x'.repeat(250)])(
    'presents its own certificate to a client that names "%s"',
    async (servername) => {
      const { open: connectTo } = await open()
      const socket = await connectTo({ servername, rejectUnauthorized: false })
      expect(nameOf(socket)).toBe('gw.example.test')
    },
  )

  it.each(['unknown.test', ''])('refuses "%s" if it has no certificate for all others', async (servername) => {
    const { open: connectTo, counts } = await open(planOf({ fallback: null }))
    await expect(connectTo({ servername, rejectUnauthorized: false })).rejects.toThrow(/./)
    expect(nameOf(await connectTo({ servername: 'api.example.test' }))).toBe('api.example.test')
    expect(counts).toEqual(['tls_handshake_failed'])
  })

  it('presents a changed certificate to new connections, and goes on with the others', async () => {
    const { server, open: connectTo } = await open()
    const before = await connectTo()
    const next = certify('gw.example.test', 'second.example.test')
    server.secure?.(planOf({ fallback: next }))
    const after = await connectTo()
    expect(await ask(before, '/before')).toBe('/before 0')
    expect(before.getPeerCertificate().subjectaltname).toBe('DNS:gw.example.test')
    expect(after.getPeerCertificate().subjectaltname).toBe('DNS:gw.example.test, DNS:second.example.test')
  })

  it('resumes sessions of another server with the same keys, and none after a change', async () => {
    const [one, other] = [await open(), await open()]
    const socket = await one.open()
    const session = once(socket, 'session')
    await ask(socket)
    const [ticket] = (await session) as [Buffer]
    expect((await other.open({ session: ticket })).isSessionReused()).toBe(true)
    other.server.secure?.(planOf({ ticketKeys: Buffer.alloc(48, 2) }))
    expect((await other.open({ session: ticket })).isSessionReused()).toBe(false)
  })

  it.each([
    ['TLS 1.1', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }],
    ['a cipher without forward secrecy', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }],
    ['a cipher without authenticated encryption', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' }],
    ['an unknown protocol', { ALPNProtocols: ['spdy/3'] }],
  ] as const)('refuses %s', async (_name, options) => {
    const { open: connectTo, counts } = await open()
    await expect(connectTo(options as TlsClientOptions)).rejects.toThrow(/./)
    await expect.poll(() => counts).toEqual(['tls_handshake_failed'])
  })

  it.each([
    ['HTTP without TLS', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
    ['random bytes', Buffer.from(Array.from({ length: 4_096 }, (_value, index) => (index * 7919) % 251))],
    ['a record that is too long', Buffer.from([22, 3, 1, 255, 255, ...Array<number>(100).fill(1)])],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 2, 40])],
  ])('ends a connection that begins with %s', async (_name, bytes) => {
    const { openTcp, open: connectTo, counts } = await open()
    const socket = await openTcp()
    socket.write(bytes)
    await received(socket)
    expect(counts).toEqual(['tls_handshake_failed'])
    expect(await ask(await connectTo(), '/after')).toBe('/after 0')
  })

  it('survives handshakes that end after each byte of the first message', async () => {
    const { openTcp, open: connectTo } = await open()
    const hello = await firstMessage()
    for (let length = 0; length < hello.length; length += 7) {
      const socket = await openTcp()
      socket.write(hello.subarray(0, length))
      if (length % 2 === 0) socket.end()
      else socket.resetAndDestroy()
    }
    expect(await ask(await connectTo(), '/after')).toBe('/after 0')
  })

  it('answers a client that has closed its side', async () => {
    const { open: connectTo } = await open()
    const socket = await connectTo({ allowHalfOpen: true })
    socket.end('GET /last HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await received(socket)).toContain('/last 0')
  })

  it('ends connections within their handshake when it closes all', async () => {
    const { server, openTcp } = await open()
    const socket = await openTcp()
    const accepted = new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
    await expect.poll(async () => accepted).toBe(1)
    server.closeAllConnections()
    await received(socket)
    expect(socket.destroyed).toBe(true)
  })
})

/** The first message of a client. */
async function firstMessage(): Promise<Buffer> {
  const listener = createServer()
  const port = await listen(listener)
  const client = connect({ port, host: '127.0.0.1', servername: 'gw.example.test' })
  client.on('error', () => {})
  const [socket] = (await once(listener, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  listener.close()
  return hello
}
