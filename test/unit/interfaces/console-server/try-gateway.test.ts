import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createTryGateway } from '../../../../src/interfaces/console-server/try-gateway.ts'
import type { GatewayRequest } from '../../../../src/interfaces/console-server/try-request.ts'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'

const HOST = '127.0.0.1'
const gatewayUrl = 'https://gateway.example'
const TOKEN = 'token-of-the-person'
const CALL: GatewayRequest = { method: 'GET', path: '/ledger-v1/entries?n=1', headers: [], body: null }

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve))
  return (server.address() as AddressInfo).port
}

async function openGateway(answer: RequestListener, timeoutMs?: number) {
  const server = createHttpServer(answer)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const port = await listen(server)
  return {
    port,
    send: createTryGateway({ host: HOST, port, gatewayUrl, clock: systemClock, ...(timeoutMs && { timeoutMs }) }),
  }
}

/** A gateway that receives and sends bytes as they are. */
async function openRaw(onData: (socket: Socket, text: string) => void, timeoutMs = 5_000) {
  const sockets = new Set<Socket>()
  let received = ''
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data: Buffer) => {
      received += data.toString('latin1')
      onData(socket, received)
    })
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const port = await listen(server)
  const send = createTryGateway({ host: HOST, port, gatewayUrl, clock: systemClock, timeoutMs })
  return { port, send, received: () => received }
}

it('sends the call with the token and the framing of the service, and nothing else', async () => {
  const { send, received } = await openRaw((socket, text) => {
    if (text.endsWith('{"a":1}')) socket.end('HTTP/1.1 200 OK\r\nX-Request-Id: abc\r\nContent-Length: 2\r\n\r\nok')
  })
  const headers = [['Content-Type', 'application/json'] as const, ['x-shop', 'a'] as const]
  const answer = await send({ ...CALL, method: 'POST', headers, body: Buffer.from('{"a":1}') }, TOKEN)
  expect(received().split('\r\n')).toEqual([
    'POST /ledger-v1/entries?n=1 HTTP/1.1',
    'Host: gateway.example',
    `Authorization: Bearer ${TOKEN}`,
    'Accept-Encoding: identity',
    'Connection: close',
    'Content-Type: application/json',
    'x-shop: a',
    'Content-Length: 7',
    '',
    '{"a":1}',
  ])
  expect(answer).toEqual({
    status: 200,
    durationMs: answer.durationMs,
    headers: [
      ['X-Request-Id', 'abc'],
      ['Content-Length', '2'],
    ],
    body: 'ok',
    bodyBytes: 2,
    isTruncated: false,
    requestId: 'abc',
  })
})

it('shows a redirect as the answer, and does not follow it', async () => {
  let calls = 0
  const { send } = await openGateway((_, response) => {
    calls++
    response.writeHead(302, { location: 'http://127.0.0.1:1/secret' }).end()
  })
  expect(await send(CALL, TOKEN)).toMatchObject({ status: 302, body: '' })
  expect(calls).toBe(1)
})

it('cuts an answer that has no end, at a whole character', async () => {
  const { send } = await openGateway((_, response) => {
    response.writeHead(200)
    response.write('x')
    const more = (): void => {
      while (!response.destroyed && response.write('é'.repeat(10_000)));
    }
    response.on('drain', more)
    more()
  })
  const { isTruncated, bodyBytes, body } = await send(CALL, TOKEN)
  expect([isTruncated, bodyBytes]).toEqual([true, 256 * 1_024])
  expect(body?.endsWith('é')).toBe(true)
})

it('returns an answer of exactly the bound as a whole', async () => {
  const { send } = await openGateway((_, response) => response.end('x'.repeat(256 * 1_024)))
  expect(await send(CALL, TOKEN)).toMatchObject({ isTruncated: false, bodyBytes: 256 * 1_024 })
})

it('shows no body that is not text, and does not decode one that is compressed', async () => {
  const { send } = await openGateway((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.from([0x1f, 0x8b, 8, 0, 255, 254]))
  })
  expect(await send(CALL, TOKEN)).toMatchObject({ status: 200, body: null, bodyBytes: 6 })
})

it('answers 504 if the answer does not begin in time, and if it does not end in time', async () => {
  const silent = await openRaw(() => undefined, 100)
  await expect(silent.send(CALL, TOKEN)).rejects.toMatchObject({ code: 'upstream_timeout' })
  const slow = await openRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'), 100)
  await expect(slow.send(CALL, TOKEN)).rejects.toMatchObject({ code: 'upstream_timeout' })
})

it.each([
  ['ends before it is complete', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'],
  ['is not HTTP', 'hello\r\n\r\n'],
  ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
  ['has a head of 20,000 characters', `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`],
  ['closes at once', ''],
])('answers 503 if the gateway %s', async (_, bytes) => {
  const { send } = await openRaw((socket) => socket.end(bytes))
  await expect(send(CALL, TOKEN)).rejects.toMatchObject({ code: 'unavailable' })
})

it('does not take an answer that switches to another protocol for one', async () => {
  const { send } = await openRaw((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  await expect(send(CALL, TOKEN)).rejects.toMatchObject({ status: 503 })
})

it('names neither the token nor the address of the gateway in a refusal', async () => {
  const { port, send } = await openRaw((socket) => socket.destroy())
  const refused: unknown = await send(CALL, TOKEN).catch((cause: unknown) => cause)
  expect((refused as Error).message).not.toMatch(new RegExp(`${TOKEN}|${port}`))
})
