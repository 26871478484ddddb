import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, expect, it } from 'vitest'
import type { EncodedText } from '../../../../src/foundation/domain/encoded-text.ts'
import { bodyOf, installDocumentBodies } from '../../../../src/interfaces/platform/document-bodies.ts'
import { installJsonBody } from '../../../../src/interfaces/platform/json-body.ts'
import { sendProblem, toProblem } from '../../../../src/interfaces/platform/problems.ts'
import { base64, DOCUMENT_BODY_BYTES_MAX, name, object } from '../../../../src/interfaces/platform/schemas.ts'
import { createValidatorCompiler } from '../../../../src/interfaces/platform/validator.ts'

const SCHEMA = object({ name, specification: base64 }, ['specification'])
const DOCUMENT = Buffer.alloc(3_000_000, 'paths: {}\n')
const TEXT = JSON.stringify({ name: 'a', specification: DOCUMENT.toString('base64') })

let app: FastifyInstance
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app.close()
})

/** Serves one operation, which answers with its name and the length of its document once `admit` resolves. */
async function start(admit: Promise<unknown> = Promise.resolve()): Promise<number> {
  app = fastify({ forceCloseConnections: true })
  app.setValidatorCompiler(createValidatorCompiler())
  app.setErrorHandler((error: Error, request, reply) => sendProblem(request, reply, toProblem(error)))
  app.decorateRequest('caller', null)
  installJsonBody(app)
  app.addHook('onRequest', async (request) => {
    const tenant = String(request.headers['x-tenant'] ?? 'a')
    request.caller = { grant: { tenant } } as NonNullable<typeof request.caller>
  })
  installDocumentBodies(app)
  app.route({
    method: 'POST',
    url: '/',
    bodyLimit: DOCUMENT_BODY_BYTES_MAX,
    schema: { body: SCHEMA },
    config: { operation: { body: SCHEMA } as never },
    handler: async (request) => {
      await admit
      const { name: given, specification } = bodyOf(request) as { name?: string; specification: EncodedText }
      return { name: given, type: typeof specification, length: specification.length, body: request.body }
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

const head = (length: number | null, tenant = 'a') =>
  `POST / HTTP/1.1\r\nHost: a\r\nX-Tenant: ${tenant}\r\nContent-Type: application/json\r\n` +
  `${length === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n\r\n`

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  sockets.push(socket)
  return socket
}

/** Returns the status, the headers and the body of the answer. */
async function answerOf(socket: Socket) {
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    const [top = '', body] = text.split('\r\n\r\n')
    const length = /content-length: (\d+)/i.exec(top)?.[1]
    if (body === undefined || length === undefined || body.length < Number(length)) continue
    return { status: Number(text.slice(9, 12)), head: top, body: JSON.parse(body) as Record<string, unknown> }
  }
  return null
}

async function send(port: number, body: string, length: number | null = Buffer.byteLength(body), tenant?: string) {
  const socket = open(port)
  socket.write(head(length, tenant))
  if (length === null) {
    for (let at = 0; at < body.length; at += 50_000) {
      const piece = body.slice(at, at + 50_000)
      socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`)
    }
    socket.write('0\r\n\r\n')
  } else socket.write(body)
  return answerOf(socket)
}

it('decodes the documents of a large body, and of one in chunks', async () => {
  const port = await start()
  for (const length of [TEXT.length, null]) {
    const answer = await send(port, TEXT, length)
    expect(answer?.body).toMatchObject({ name: 'a', type: 'object', length: DOCUMENT.length })
    expect(answer?.body['body']).toEqual({ name: 'a', specification: expect.stringMatching(/^sha256:/) })
  }
})

it('leaves a small body as it is', async () => {
  const answer = await send(await start(), '{"specification": "QQ=="}')
  expect(answer?.body).toMatchObject({ type: 'string', length: 4 })
})

it.each([
  ['base64 with other characters', TEXT.replace('cGF0', 'c*F0'), 400],
  ['a document twice', `${TEXT.slice(0, -1)}, "specification": "QQ=="}`, 400],
  ['an unknown member', `${TEXT.slice(0, -1)}, "other": 1}`, 400],
  ['a prototype', `${TEXT.slice(0, -1)}, "__proto__": {"a": 1}}`, 400],
  ['a body that ends early', TEXT.slice(0, -1), 400],
  ['a document that is not a text', TEXT.replace('"specification":"', '"specification":["').replace(/"}$/, '"]}'), 413],
  ['spaces only', `{"specification": "${' '.repeat(22_000_000)}"}`, 400],
  ['a deep body', '['.repeat(20_000_000), 413],
  ['a document that is too long', `{"specification": "${'A'.repeat(22_369_625)}"}`, 400],
])('refuses %s', async (_, body, status) => {
  const port = await start()
  expect((await send(port, body))?.status).toBe(status)
  expect((await send(port, body, null))?.status).toBe(status)
  // The server goes on.
  expect((await send(port, TEXT))?.status).toBe(200)
})

it('refuses a body in chunks that does not end', async () => {
  const socket = open(await start())
  socket.write(head(null))
  const piece = `${(1_000_000).toString(16)}\r\n${' '.repeat(1_000_000)}\r\n`
  // The connection may be reset before its client has read the answer.
  const answer = answerOf(socket).catch(() => null)
  while (!socket.destroyed && socket.writable && socket.bytesWritten < 100_000_000) {
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => null), answer])
    if (socket.readableDidRead && socket.readableFlowing === null) break
  }
  expect([413, undefined]).toContain((await answer)?.status)
  expect(socket.bytesWritten).toBeLessThan(100_000_000)
})

it('bounds the bodies in progress, per tenant and in total, and frees the place of one that is aborted', async () => {
  const port = await start()
  const slow = (tenant: string): Socket => {
    const socket = open(port)
    socket.write(head(TEXT.length, tenant) + TEXT.slice(0, 100_000))
    return socket
  }
  const first = Array.from({ length: 4 }, () => slow('a'))
  const refused = await send(port, TEXT, undefined, 'a')
  expect(refused?.status).toBe(503)
  expect(refused?.head).toMatch(/retry-after: 5/i)
  expect((await send(port, '{"specification": "QQ=="}', undefined, 'a'))?.status).toBe(200)
  expect((await send(port, TEXT, undefined, 'b'))?.status).toBe(200)
  const others = Array.from({ length: 4 }, () => slow('b'))
  expect((await send(port, TEXT, undefined, 'c'))?.status).toBe(503)
  for (const socket of first) socket.destroy()
  await expect.poll(async () => (await send(port, TEXT, undefined, 'c'))?.status, { timeout: 10_000 }).toBe(200)
  for (const socket of others) socket.write(TEXT.slice(100_000))
  for (const socket of others) expect((await answerOf(socket))?.status).toBe(200)
})

it('holds the place until the answer', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const port = await start(promise)
  const waiting = Array.from({ length: 4 }, () => send(port, TEXT))
  await expect.poll(async () => (await send(port, TEXT))?.status, { timeout: 10_000 }).toBe(503)
  resolve()
  expect((await Promise.all(waiting)).map((answer) => answer?.status)).toEqual([200, 200, 200, 200])
  expect((await send(port, TEXT))?.status).toBe(200)
})
