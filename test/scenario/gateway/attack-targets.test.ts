/** Targets that break the framing of HTTP: no caller gets the bytes of another one, and the other target does not suffer. */

import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openServing, openTargets, toStreamed, type Target } from '../../fixtures/target-backends.ts'
import { openRawBackend } from '../../fixtures/test-backend.ts'

const CALLS = 12
const EVIL = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL'

interface Received {
  readonly method: string
  readonly body: string
}

const okOf = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`
const answerTo = ({ method, body }: Received): string => okOf(`<${method} ${body}>`)

/** Reads requests whose bodies have a length, and lets `answer` write. */
async function openHostile(answer: (socket: Socket, request: Received) => void): Promise<Target> {
  const received: string[] = []
  const origin = await openRawBackend((socket) => {
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
      for (;;) {
        const match = /^(\w+) [^]*?\r\n\r\n/.exec(text)
        if (match === null) return
        const bytes = Number(/content-length: (\d+)/i.exec(match[0])?.[1] ?? 0)
        const end = match[0].length + bytes
        if (text.length < end) return
        const request = { method: match[1]!, body: text.slice(match[0].length, end) }
        text = text.slice(end)
        received.push(`${request.method} /open?x=1 ${request.body}`)
        answer(socket, request)
      }
    })
  })
  return { origin, received }
}

const SURPLUS: Readonly<Record<string, (request: Received) => string>> = {
  'another response': (request) => answerTo(request) + EVIL,
  'two other responses': (request) => answerTo(request) + EVIL + EVIL,
  'the start of another response': (request) => answerTo(request) + EVIL.slice(0, -2),
  'an interim response': (request) => `${answerTo(request)}HTTP/1.1 103 Early Hints\r\n\r\n`,
  'line breaks': (request) => `${answerTo(request)}\r\n\r\n`,
  'bytes that are not HTTP': (request) => `${answerTo(request)}EVIL`,
  'another response after chunks': ({ method, body }) => {
    const text = `<${method} ${body}>`
    const chunk = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${EVIL}`
  },
  'another response after Connection: close': (request) =>
    answerTo(request).replace('OK\r\n', 'OK\r\nConnection: close\r\n') + EVIL,
  'another response after one without a body': (request) =>
    request.method === 'DELETE' ? `HTTP/1.1 204 No Content\r\n\r\n${EVIL}` : answerTo(request) + EVIL,
}

describe('a target that sends more than its response', () => {
  it.each(Object.entries(SURPLUS))('reaches no other caller: %s', async (_, answer) => {
    const hostile = await openHostile((socket, request) => void socket.write(answer(request), 'latin1'))
    const good = await openServing()
    const { gateway, send, healthOf, isFree } = await openTargets([hostile, good])
    for (let index = 0; index < CALLS; index++) {
      const method = ['POST', 'PUT', 'DELETE', 'GET'][index % 4]!
      const body = method === 'POST' || method === 'PUT' ? `call-${index}` : null
      const response = await send(method, body)
      expect(response).not.toContain('EVIL')
      if (!response.startsWith('HTTP/1.1 204')) expect(response).toContain(`<${method} ${body ?? ''}>`)
    }
    expect(gateway.records).toHaveLength(CALLS)
    expect([...hostile.received, ...good.received]).toHaveLength(CALLS)
    expect([healthOf()[1], isFree(), gateway.inFlight()]).toEqual([`${CALLS / 2} good, 0 failed`, true, 0])
  })

  it('reaches no other caller if it sends it on an idle connection', async () => {
    const closed: Promise<unknown>[] = []
    const sockets: Socket[] = []
    const hostile = await openHostile((socket, request) => {
      sockets.push(socket)
      closed.push(new Promise((resolve) => socket.once('close', resolve)))
      socket.write(answerTo(request))
    })
    const { gateway, send } = await openTargets([hostile])
    for (let index = 0; index < 4; index++) {
      expect(await send('POST', `call-${index}`)).toContain(`<POST call-${index}>`)
      sockets.at(-1)!.write(EVIL)
      await closed.at(-1)
    }
    expect(new Set(sockets).size).toBe(4)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(Array(4).fill('served'))
  })
})

describe('a target that breaks off', () => {
  const whole = okOf('<POST call>')

  it.each(Array.from({ length: 12 }, (_, index) => Math.floor((index * whole.length) / 11)))(
    'after %d bytes costs its own call alone, which no other target gets',
    async (length) => {
      const hostile = await openHostile((socket, request) => {
        if (request.method !== 'POST') return void socket.write(answerTo(request))
        socket.write(whole.slice(0, length), 'latin1', () => socket.resetAndDestroy())
      })
      const good = await openServing()
      const { gateway, send, healthOf, isFree } = await openTargets([hostile, good])
      const first = await send('POST', 'call')
      expect(/^HTTP\/1\.1 (?:502|200)/.test(first)).toBe(true)
      for (const body of ['one', 'two']) expect(await send('PUT', body)).toContain(`<PUT ${body}>`)
      expect(hostile.received.filter((line) => line.startsWith('POST'))).toHaveLength(1)
      expect(good.received.filter((line) => line.startsWith('POST'))).toEqual([])
      expect(gateway.records).toHaveLength(3)
      expect([healthOf()[1], isFree()]).toEqual([expect.stringContaining(', 0 failed'), true])
    },
  )

  it.each(['POST', 'PUT'])('during a streamed body is not replaced by another one: %s', async (method) => {
    const hostile = await openRawBackend((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const good = await openServing()
    const { gateway } = await openTargets([{ origin: hostile, received: [] }, good])
    expect(await gateway.raw(toStreamed(method, 'x'.repeat(200_000)))).toContain('HTTP/1.1 502')
    expect([good.received, gateway.records.length]).toEqual([[], 1])
  })
})

describe('a target that sends interim responses without end', () => {
  it('loses an idempotent call to another one before the time limit, and no other call', async () => {
    const hostile = await openHostile((socket) => {
      const flood = (): void => {
        if (socket.writable) socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(500), flood)
      }
      flood()
    })
    const good = await openServing()
    const { gateway, send, healthOf } = await openTargets([hostile, good], {
      backend: { origin: hostile.origin, timeoutMs: 50_000 },
    })
    expect(await send('POST', 'x')).toContain('HTTP/1.1 502')
    for (let count = 0; count < 2; count++) expect(await send('GET')).toContain('<GET >')
    expect(good.received).toEqual(Array(2).fill('GET /open?x=1 '))
    expect(healthOf()).toEqual(['0 good, 2 failed', '2 good, 0 failed'])
    expect(gateway.records.map(({ status }) => status)).toEqual([502, 200, 200])
  })
})
