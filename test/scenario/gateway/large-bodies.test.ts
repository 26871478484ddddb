/** Large bodies of known length, which are read without the parser into memory that is used again, arrive as they were sent. */

import { createHash, randomBytes } from 'node:crypto'
import { request as httpRequest, Agent, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRandom, type Random } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'
import {
  openBackend,
  openRawBackend,
  openTestGateway,
  receivedUntil,
  type TestGateway,
} from '../../fixtures/test-gateway.ts'

const MB = 1_000_000
const SEED = readSeed(1)
const DATA = randomBytes(9 * MB)
/** More than the kernel keeps for a reader that stops. */
const STALLING = Buffer.concat(Array.from({ length: 5 }, () => DATA))

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Reads a body with pauses at random places, and returns its length and hash. */
async function readSlowly(body: IncomingMessage, random: Random): Promise<string> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
    if (random.below(30) === 0) await turns(200)
  }
  return `${bytes} ${hash.digest('hex')}`
}

/** Lets everybody else work. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

const textOf = (bytes: Buffer): string => `${bytes.length} ${hashOf(bytes)}`

/** Answers a POST with what it has received, and a GET with the part of `DATA` that its query names. */
const echo =
  (random: Random): RequestListener =>
  async (incoming, response) => {
    if (incoming.method === 'POST') return void response.end(await readSlowly(incoming, random))
    const [from, to] = partOf(incoming.headers['x-part'])
    response.setHeader('Content-Length', to - from)
    response.end(DATA.subarray(from, to))
  }

const partOf = (text: unknown): [from: number, to: number] => {
  const [from, to] = String(text).split('-').map(Number)
  return [from!, to!]
}

function call(gateway: TestGateway, agent: Agent, part: string, method: string, random: Random): Promise<string> {
  const [from, to] = partOf(part)
  const body = DATA.subarray(from, to)
  const headers = {
    'x-api-key': 'key-a',
    'x-part': part,
    ...(method === 'POST' && { 'Content-Type': 'application/octet-stream', 'Content-Length': body.length }),
  }
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port: gateway.port, path: '/things-v1/keyed', agent, method, headers }, (response) => {
      if (method === 'GET') return resolve(readSlowly(response, random))
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(text))
    })
    sent.on('error', reject)
    if (method === 'POST') writePieces(sent, body, random)
    else sent.end()
  })
}

function writePieces(sent: ReturnType<typeof httpRequest>, body: Buffer, random: Random): void {
  let at = 0
  const next = (): void => {
    while (at < body.length) {
      const piece = body.subarray(at, at + 1 + random.below(random.below(3) === 0 ? 500 : 400_000))
      at += piece.length
      if (!sent.write(piece)) return void sent.once('drain', next)
    }
    sent.end()
  }
  next()
}

describe(`large bodies (seed ${SEED})`, () => {
  it('arrive as they were sent, many at a time, whatever the speed of both sides', { timeout: 120_000 }, async () => {
    const random = createRandom(SEED)
    const gateway = await openTestGateway({ backend: { origin: await openBackend(echo(random)), connections: 64 } })
    const agent = new Agent({ keepAlive: true, maxSockets: 12 })
    onTestFinished(() => agent.destroy())
    const calls = Array.from({ length: 120 }, async () => {
      const from = random.below(4 * MB)
      const to = from + random.below(random.below(3) === 0 ? 5 * MB : 400_000)
      const method = random.below(2) === 0 ? 'GET' : 'POST'
      expect(await call(gateway, agent, `${from}-${to}`, method, random), method).toBe(textOf(DATA.subarray(from, to)))
    })
    await Promise.all(calls)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(Array<string>(120).fill('served'))
  })

  it('arrive as they were sent if the reader stops for a while', { timeout: 120_000 }, async () => {
    const random = createRandom(SEED)
    const origin = await openBackend(async (incoming, response) => {
      if (incoming.method === 'GET') {
        response.setHeader('Content-Length', STALLING.length)
        return void response.end(STALLING)
      }
      await turns(3_000)
      response.end(await readSlowly(incoming, random))
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const headers = { 'x-api-key': 'key-a', 'Content-Type': 'application/octet-stream' }
    const options = { port: gateway.port, path: '/things-v1/keyed', agent, headers }
    const read = (method: string, body: Buffer | null): Promise<string> =>
      new Promise((resolve, reject) => {
        const length = body === null ? {} : { 'Content-Length': body.length }
        httpRequest({ ...options, method, headers: { ...headers, ...length } }, async (response) => {
          if (body !== null)
            return resolve(String(await response.setEncoding('utf8').reduce((all, part) => all + part, '')))
          await turns(3_000)
          resolve(await readSlowly(response, random))
        })
          .on('error', reject)
          .end(body)
      })
    const reads = [read('GET', null), read('POST', STALLING), read('GET', null), read('POST', STALLING)]
    for (const text of await Promise.all(reads)) expect(text).toBe(textOf(STALLING))
  })

  it('leave the connection to the requests behind them in the same bytes', async () => {
    const random = createRandom(SEED)
    const gateway = await openTestGateway({ backend: { origin: await openBackend(echo(random)) } })
    const socket = await gateway.open()
    const body = DATA.subarray(0, MB)
    const answered = receivedUntil(socket, new RegExp(`(${textOf(body)}[^]*){3}`))
    const head = `POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${MB}\r\n\r\n`
    socket.write(Buffer.concat([1, 2, 3].flatMap(() => [Buffer.from(head), body])))
    expect([...(await answered).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual([
      '200',
      '200',
      '200',
    ])
  })

  it('end the connection of the client if what follows is no request', async () => {
    const random = createRandom(SEED)
    const gateway = await openTestGateway({ backend: { origin: await openBackend(echo(random)) } })
    const socket = await gateway.open()
    const head = `POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${MB}\r\n\r\n`
    const answered = receivedUntil(socket, /400 Bad Request[^]*\r\n\r\n$/)
    socket.write(Buffer.concat([Buffer.from(head), DATA.subarray(0, MB), Buffer.from('\0\0')]))
    expect(await answered).toContain(textOf(DATA.subarray(0, MB)))
  })

  it('of a backend do not carry what follows them into the next response', async () => {
    let connections = 0
    const origin = await openRawBackend((socket: Socket) => {
      connections++
      const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${MB}\r\n\r\n`)
      const poison = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison')
      socket.on('data', () => socket.write(Buffer.concat([head, DATA.subarray(0, MB), poison])))
    })
    const random = createRandom(SEED)
    const gateway = await openTestGateway({ backend: { origin } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    for (let round = 0; round < 5; round++)
      expect(await call(gateway, agent, `0-${MB}`, 'GET', random)).toBe(textOf(DATA.subarray(0, MB)))
    expect(connections).toBe(5)
  })

  it.each([1, 3])(
    'of a backend do not carry what follows a read of exactly 64 KB into the response to a call that waits (%i reads)',
    async (reads) => {
      const first = 1_000
      const poison = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison')
      let connections = 0
      const origin = await openRawBackend((socket: Socket) => {
        connections++
        let requests = 0
        socket.on('data', async () => {
          // The first responses let the kernel take more at once.
          const isPoisoned = requests++ >= 2
          const rest = (isPoisoned ? reads : 60) * 65_536
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${first + rest}\r\n\r\n${'a'.repeat(first)}`)
          await turns(50)
          socket.write(Buffer.concat([DATA.subarray(0, rest), ...(isPoisoned ? [poison] : [])]))
        })
      })
      const gateway = await openTestGateway({ backend: { origin, connections: 1, waitMs: 60_000 } })
      const agent = new Agent({ keepAlive: true })
      onTestFinished(() => agent.destroy())
      const sizes = await Promise.all(
        Array.from({ length: 9 }, async () => {
          const text = await call(gateway, agent, '0-0', 'GET', createRandom(SEED))
          return Number(text.split(' ')[0])
        }),
      )
      expect(sizes.filter((size) => size < first)).toEqual([])
      expect(connections).toBeGreaterThanOrEqual(3)
    },
  )

  it('of a backend that end early break the response off', async () => {
    const origin = await openRawBackend((socket: Socket) => {
      socket.on('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${MB}\r\n\r\n`)
        socket.end(DATA.subarray(0, MB - 1))
      })
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const agent = new Agent()
    await expect(call(gateway, agent, `0-${MB}`, 'GET', createRandom(SEED))).rejects.toThrow('aborted')
    await gateway.recorded(1)
    expect(gateway.records[0]).toMatchObject({ outcome: 'upstream_broken', status: 200 })
  })

  it('that a client breaks off are broken off at the backend', async () => {
    const { promise: isAborted, resolve } = Promise.withResolvers<number>()
    const origin = await openBackend((incoming) => {
      let bytes = 0
      incoming.on('data', (chunk: Buffer) => (bytes += chunk.length))
      incoming.on('error', () => resolve(bytes))
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    socket.write(
      `POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${MB}\r\n\r\n`,
    )
    socket.end(DATA.subarray(0, MB - 1))
    expect(await isAborted).toBe(MB - 1)
    await gateway.recorded(1)
    expect(gateway.records[0]).toMatchObject({ outcome: 'client_aborted' })
  })

  it('that the backend refuses before they are read leave the refusal to the client', async () => {
    const origin = await openRawBackend((socket: Socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge'))
      socket.on('error', () => {})
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const answered = receivedUntil(socket, /large$/)
    socket.write(
      `POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${9 * MB}\r\n\r\n`,
    )
    socket.write(DATA)
    expect(await answered).toMatch(/^HTTP\/1.1 413 /)
  })
})
