import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { received, receivedUntil } from '../../../../fixtures/test-backend.ts'
import { parseAnswers } from './answers.ts'
import { answer, CLOSE, get, openServer, statusesIn } from './open-server.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'

const BIG_BYTES = 10_000_000
/** Distinguishes every part of a body. */
const BIG = Buffer.from(Array.from({ length: BIG_BYTES / 10 }, (_, index) => String(index).padStart(10, '.')).join(''))
const CHUNK_BYTES = 100_000

/** Reads a chunk at a time, and pauses in between. */
async function readSlowly(socket: Socket): Promise<string> {
  const text = received(socket)
  socket.on('data', () => {
    socket.pause()
    setImmediate(() => socket.resume())
  })
  return text
}

function writeAll(response: ClientResponse, onDrain: () => void): void {
  let at = 0
  const write = (): void => {
    while (at < BIG_BYTES) {
      const mayContinue = response.write(BIG.subarray(at, (at += CHUNK_BYTES)))
      if (!mayContinue) return
    }
    response.end()
  }
  response.on('drain', () => {
    onDrain()
    write()
  })
  write()
}

describe('A response of 10 MB to a slow reader', () => {
  it.each([
    ['with a length', ['Content-Length', String(BIG_BYTES)], 'length'],
    ['in chunks', [], 'chunks'],
  ])('%s is written as the reader goes on, and arrives intact', async (_, headers, framing) => {
    let drains = 0
    const { open } = await openServer((_request, response) => {
      response.start(200, toResponseFields(headers))
      writeAll(response, () => drains++)
    })
    const socket = await open()
    socket.on('end', () => socket.destroy())
    const text = readSlowly(socket)
    socket.write(get('/', CLOSE))
    const { answers, rest } = parseAnswers(await text, [])
    expect(answers).toMatchObject([{ status: 200, framing }])
    expect([Buffer.from(answers[0]!.body, 'latin1').equals(BIG), rest]).toEqual([true, ''])
    expect(drains).toBeGreaterThan(0)
  })

  it('that is queued behind another response arrives intact after it', async () => {
    let drains = 0
    const first: ClientResponse[] = []
    const { open } = await openServer((request, response) => {
      if (request.url === '/first') return void first.push(response)
      response.start(200, toResponseFields(['Content-Length', String(BIG_BYTES)]))
      writeAll(response, () => drains++)
      setImmediate(() => answer(first[0]!))
    })
    const socket = await open()
    socket.on('end', () => socket.destroy())
    const text = readSlowly(socket)
    socket.write(get('/first') + get('/', CLOSE))
    const { answers } = parseAnswers(await text, [])
    expect(answers.map(({ body }) => body.length)).toEqual([2, BIG_BYTES])
    expect(Buffer.from(answers[1]!.body, 'latin1').equals(BIG)).toBe(true)
    expect(drains).toBeGreaterThan(0)
  })

  it('is over for its call when the reader has disconnected', async () => {
    const { promise: isGone, resolve } = Promise.withResolvers<ClientResponse>()
    const { open, faults } = await openServer((_request, response) => {
      response.call = { clientGone: () => resolve(response) }
      answer(response, BIG.toString('latin1'))
    })
    const socket = await open()
    socket.write(get())
    await once(socket, 'data')
    socket.resetAndDestroy()
    const { writableFinished, destroyed } = await isGone
    expect([writableFinished, destroyed, faults]).toEqual([false, true, []])
  })
})

describe('A response', () => {
  it.each([
    ['fewer bytes', 'ab', '', []],
    ['more bytes', 'abcdefg', '', []],
    ['fewer bytes in parts', 'a', 'b', ['200']],
    ['more bytes in parts', 'abcd', 'efg', ['200']],
    ['no bytes', '', '', []],
  ])('with %s than its length closes the connection before the wrong end', async (_, part, last, statuses) => {
    const { raw, faults } = await openServer((_request, response) => {
      response.start(200, toResponseFields(['Content-Length', '5']))
      if (last !== '') response.write(Buffer.from(part))
      response.end(last === '' ? part : last)
    })
    const text = await raw(get() + get())
    expect([statusesIn(text), text.slice(text.indexOf('\r\n\r\n'))]).toEqual([
      statuses,
      statuses.length === 0 ? '' : `\r\n\r\n${part}`,
    ])
    expect(faults).toEqual([])
  })

  it.each([
    ['to HEAD', 'HEAD', 200, ['Content-Length', '2']],
    ['to HEAD without a length', 'HEAD', 200, []],
    ['with status 204', 'GET', 204, []],
    ['with status 304', 'GET', 304, ['Content-Length', '2']],
  ])('%s has no body, and the next one follows it', async (_, method, status, headers) => {
    const { raw } = await openServer((request, response) => {
      if (request.url === '/next') return answer(response)
      response.start(status, toResponseFields(headers))
      response.write(Buffer.from('o'))
      response.end('k')
    })
    const text = await raw(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n${get('/next', CLOSE)}`)
    const { answers, rest } = parseAnswers(text, [{ method }])
    expect(answers).toMatchObject([
      { status, framing: 'none' },
      { status: 200, body: 'ok' },
    ])
    expect(answers[0]!.lines.filter((line) => line.startsWith('Transfer-Encoding'))).toEqual([])
    expect(rest).toBe('')
  })

  it.each([
    ['a line break in a value', ['A', 'b\r\nC: d']],
    ['a line feed in a value', ['A', 'b\nC: d']],
    ['a line break in a name', ['A: b\r\nC', 'd']],
    ['a NUL in a value', ['A', '\0']],
    ['a character above U+00FF', ['A', '\u010d']],
  ])('whose headers contain %s is a fault, and nothing is sent', async (_, headers) => {
    const { raw, faults } = await openServer((_request, response) => {
      response.start(200, toResponseFields(headers))
      response.end('ok')
    })
    expect(await raw(get() + get())).toBe('')
    expect(faults).toHaveLength(1)
  })

  it.each([
    ['ends the connection of HTTP/1.0', '', 'Connection: close', 1],
    ['keeps a connection of HTTP/1.0 that asks for it', 'Connection: keep-alive\r\n', 'Connection: keep-alive', 2],
  ])('%s', async (_, headers, line, count) => {
    const { raw } = await openServer((_request, response) => answer(response))
    const text = await raw(`GET / HTTP/1.0\r\n${headers}\r\nGET / HTTP/1.0\r\n\r\n`)
    const { answers } = parseAnswers(text, [])
    expect(answers).toHaveLength(count)
    expect(answers[0]!.lines).toContain(line)
  })

  it('without a length ends the connection of HTTP/1.0, which knows no chunks', async () => {
    const { raw } = await openServer((_request, response) => {
      response.start(200, toResponseFields([]))
      response.write(Buffer.from('o'))
      response.end('k')
    })
    const { answers } = parseAnswers(await raw('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'), [])
    expect(answers).toMatchObject([{ framing: 'close', body: 'ok', lines: ['Connection: close'] }])
  })

  it('that is aborted closes the connection after the responses before it', async () => {
    const responses: ClientResponse[] = []
    const { open } = await openServer((_request, response) => {
      if (responses.push(response) < 3) return
      responses[1]!.breakOff()
      answer(responses[2]!)
      answer(responses[0]!)
    })
    const socket = await open()
    const text = received(socket)
    const ended = once(socket, 'end')
    const first = receivedUntil(socket, /ok/)
    socket.write(get().repeat(3))
    await first
    await ended
    socket.destroy()
    expect(statusesIn(await text)).toEqual(['200'])
  })
})
