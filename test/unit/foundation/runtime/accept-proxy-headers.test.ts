import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Server, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createClientServer } from '../../../../src/gateway/connection/client-server.ts'
import { nodeParser } from '../../../../src/gateway/connection/parser-choice.ts'
import { toResponseFields } from '../../../../src/gateway/connection/response-fields.ts'
import type { TlsPlan } from '../../../../src/foundation/tls/tls-plan.ts'
import { acceptProxyHeaders } from '../../../../src/foundation/runtime/accept-proxy-headers.ts'
import { createClientAddress } from '../../../../src/foundation/runtime/client-address.ts'
import { header, tcp6 } from '../../../fixtures/proxy-header.ts'
import { listen, received } from '../../../fixtures/test-backend.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const authority = createTestAuthority()
afterAll(() => authority.remove())
const pair = authority.sign('gw.example.test')
const certificate = { names: ['gw.example.test'], cert: pair.cert.toString(), key: pair.key.toString() }
const tls: TlsPlan = { fallback: certificate, others: [], clientCa: null, ticketKeys: Buffer.alloc(48, 1) }

/** Creates a server that answers each request with the address of its client. */
type Create = (proxies: readonly string[], onInvalid: () => void) => Server

function gateway(plan: TlsPlan | null, parser: typeof nodeParser): Create {
  return (trustedProxies, onInvalid) => {
    const clientAddress = createClientAddress(trustedProxies)
    return createClientServer(
      {
        connectionsMax: 1_000,
        tls: plan,
        trustedProxies,
        count: onInvalid,
        onFault: (cause) => expect.unreachable(String(cause)),
        onRequest(request, response) {
          request.resume()
          const text = clientAddress?.(request) ?? String(request.socket.remoteAddress)
          response.start(200, toResponseFields(['Content-Length', String(text.length)]))
          response.endWith(text, false)
        },
      },
      parser,
    )
  }
}

/** As the platform does. */
function platform(isSecure: boolean): Create {
  return (proxies, onInvalid) => {
    const clientAddress = createClientAddress(proxies)
    const server = isSecure ? createHttpsServer(pair) : createHttpServer()
    server.on('request', (request, response) => response.end(clientAddress?.(request) ?? request.socket.remoteAddress))
    acceptProxyHeaders(server, proxies, onInvalid)
    return server
  }
}

async function open(create: Create, proxies: readonly string[] = ['127.0.0.0/8']) {
  let invalid = 0
  const server = create(proxies, () => invalid++)
  const port = await listen(server)
  const sockets = new Set<Socket>()
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const dial = (): Socket => {
    const socket = connect(port, '127.0.0.1')
    sockets.add(socket.on('error', () => {}))
    return socket
  }
  return { dial, invalid: () => invalid }
}

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const bodyOf = (answer: string): string => answer.split('\r\n\r\n').at(-1)!

async function ask(socket: Socket, isSecure: boolean, text = REQUEST): Promise<string> {
  if (!isSecure) {
    socket.write(text)
    return received(socket)
  }
  const secure = connectTls({ socket, servername: 'gw.example.test' }).on('error', () => {})
  secure.write(text)
  return received(secure)
}

describe.each([
  ['our own connections', gateway(null, nodeParser), false],
  ['our own connections over TLS', gateway(tls, nodeParser), true],
  ['node:http', gateway(null, null), false],
  ['node:https', gateway(tls, null), true],
  ['the platform', platform(false), false],
  ['the platform over TLS', platform(true), true],
] as const)('for %s', (_, create, isSecure) => {
  it('takes the client that a trusted proxy names', async () => {
    const { dial } = await open(create)
    for (const [bytes, address] of [
      [header(), '203.0.113.9'],
      [header({ family: 0x21, rest: tcp6('20010db8000000000000000000000009') }), '2001:db8::9'],
      [header({ command: 0x20 }), '127.0.0.1'],
    ] as const) {
      const socket = dial()
      socket.write(bytes)
      expect(bodyOf(await ask(socket, isSecure))).toContain(address)
    }
  })

  it('takes a connection of a trusted proxy without a header', async () => {
    const { dial } = await open(create)
    expect(bodyOf(await ask(dial(), isSecure))).toContain('127.0.0.1')
  })

  it('never reads a header of others', async () => {
    const { dial } = await open(create, ['10.0.0.0/8'])
    const socket = dial()
    socket.write(header())
    const answer = await ask(socket, isSecure)
    expect(answer).not.toContain('203.0.113.9')
    expect(answer).not.toContain(' 200 ')
  })

  it('ends a connection with an invalid header', async () => {
    const { dial, invalid } = await open(create)
    const socket = dial()
    socket.write(Buffer.concat([header({ command: 0x31 }), Buffer.from(REQUEST)]))
    expect(await received(socket)).toBe('')
    expect(invalid()).toBe(1)
  })

  it('reads one header per connection', async () => {
    const { dial } = await open(create)
    const socket = dial()
    socket.write(Buffer.concat([header(), header({ rest: Buffer.from(header().subarray(16)).fill(9, 0, 4) })]))
    const answer = await ask(socket, isSecure)
    expect(answer).not.toContain(' 200 ')
    expect(answer).not.toContain('9.9.9.9')
  })
})

it('takes the client for each stream of HTTP/2', async () => {
  const { dial } = await open(gateway(tls, nodeParser))
  const socket = dial()
  socket.write(header())
  const secure = connectTls({ socket, servername: 'gw.example.test', ALPNProtocols: ['h2'] })
  const session = connectHttp2('https://gw.example.test', { createConnection: () => secure })
  onTestFinished(() => session.destroy())
  for (let call = 0; call < 2; call++) {
    const stream = session.request({ ':path': '/' })
    expect((await stream.setEncoding('utf8').toArray()).join('')).toBe('203.0.113.9')
  }
})

it('reads a header that arrives byte by byte, in front of the request or not', async () => {
  const { dial } = await open(gateway(null, nodeParser))
  const socket = dial().setNoDelay()
  for (const byte of header()) {
    await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve))
  }
  expect(bodyOf(await ask(socket, false))).toBe('203.0.113.9')
})

it('serves every request of the connection, and those with bodies', async () => {
  const { dial } = await open(gateway(null, nodeParser))
  const socket = dial()
  const body = 'x'.repeat(300_000)
  socket.write(header())
  const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const answer = await ask(socket, false, post + post + REQUEST)
  expect(answer.match(/203\.0\.113\.9/g)).toHaveLength(3)
})

it('ends connections of a proxy that close or break within the header', async () => {
  const { dial } = await open(gateway(null, nodeParser))
  for (let length = 0; length < 28; length++) {
    const socket = dial()
    socket.end(header().subarray(0, length))
    expect(await received(socket)).toBe('')
  }
  expect(bodyOf(await ask(dial(), false))).toBe('127.0.0.1')
})

it('ends a connection whose header does not arrive', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const accepted = Promise.withResolvers<void>()
  const create = gateway(null, nodeParser)
  const { dial } = await open((proxies, onInvalid) => {
    const server = create(proxies, onInvalid)
    const { emit } = server
    server.emit = (event: string, ...parts: unknown[]) => {
      const isHandled = Reflect.apply(emit, server, [event, ...parts]) as boolean
      if (event === 'connection') accepted.resolve()
      return isHandled
    }
    return server
  })
  const socket = dial()
  socket.write(header().subarray(0, 5))
  await accepted.promise
  await vi.advanceTimersByTimeAsync(15_000)
  expect(await received(socket)).toBe('')
})
