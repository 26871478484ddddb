import { randomBytes } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NOTHING_WAITS, type ChunkWriter } from '../../../../../src/gateway/connection/chunk-writer.ts'
import { findHttpParser } from '../../../../../src/gateway/connection/http1/http-parser.ts'
import type { ResponseEvents } from '../../../../../src/gateway/connection/http1/message-parser.ts'
import { setReading } from '../../../../../src/gateway/connection/http1/socket-handle.ts'
import { SocketReading } from '../../../../../src/gateway/connection/http1/socket-reading.ts'
import { UnparsedBody } from '../../../../../src/gateway/connection/http1/unparsed-body.ts'
import { listen } from '../../../../fixtures/test-backend.ts'

const parser = findHttpParser()!
const BYTES = 2_000_000
const HEAD = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${BYTES}\r\n\r\n`)

interface Reader {
  readonly lent: Buffer[]
  readonly owned: Buffer[]
  /** `head`, `surplus`, `end`; in the order of the events. */
  readonly events: string[]
  /** All parts of the body, in their order, as they are now. */
  body(): Buffer
  /** The same, as they were when they arrived. */
  arrived(): Buffer
}

interface Choice {
  readonly surplusMax?: 0 | 1
  /** Number of messages. */
  readonly count?: number
}

/** Reads what the sender writes, and passes each part on to `toWriter`. */
async function read(
  send: (socket: Socket) => void,
  toWriter: (chunk: Buffer) => ChunkWriter | null,
  { surplusMax = 1, count = 1 }: Choice = {},
): Promise<Reader> {
  const server = createServer((sender) => send(sender.on('error', () => {})))
  const socket = connect(await listen(server), '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  const parts: Buffer[] = []
  const copies: Buffer[] = []
  const reader: Reader = {
    lent: [],
    owned: [],
    events: [],
    body: () => Buffer.concat(parts),
    arrived: () => Buffer.concat(copies),
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = 0
  const keep = (chunk: Buffer, into: Buffer[]): void => {
    left -= chunk.length
    into.push(chunk)
    parts.push(chunk)
    copies.push(Buffer.from(chunk))
  }
  const end = (event: string): void => {
    reader.events.push(event)
    if (reader.events.length === 2 * count) resolve()
  }
  const events: ResponseEvents = {
    onHeaders() {},
    onHead() {
      reader.events.push('head')
      left = BYTES
      return 'reported'
    },
    expectsBody: () => true,
    onBody: (chunk) => keep(chunk, reader.owned),
    onComplete: () => end('end'),
    onRead: () => unparsed.afterRead(left),
  }
  const messages = parser.readResponses(events, 16_384)
  const unparsed = new UnparsedBody(
    new SocketReading(socket, messages),
    messages,
    {
      onBody: events.onBody,
      onLent(chunk) {
        keep(chunk, reader.lent)
        return toWriter(chunk)
      },
      onBodyEnd: (hasSurplus) => end(hasSurplus ? 'surplus' : 'end'),
      holdBody: (isHeld) => setReading(socket, !isHeld),
    },
    surplusMax,
  )
  await promise
  return reader
}

const memoryOf = (chunks: readonly Buffer[]) => new Set(chunks.map(({ buffer }) => buffer))

describe('UnparsedBody', () => {
  it('uses the memory of a chunk again that was written at once', async () => {
    const data = randomBytes(BYTES)
    const { lent, owned, events } = await read(
      (socket) => socket.write(Buffer.concat([HEAD, data])),
      () => NOTHING_WAITS,
    )
    expect(events).toEqual(['head', 'end'])
    expect(lent.length).toBeGreaterThan(10)
    expect(memoryOf(lent).size).toBe(1)
    expect([...lent, ...owned].reduce((sum, { length }) => sum + length, 0)).toBe(BYTES)
  })

  it('leaves the memory of a chunk alone while it waits to be written', async () => {
    const data = randomBytes(BYTES)
    const writer = { writableLength: 0 }
    const { body, lent } = await read(
      (socket) => socket.write(Buffer.concat([HEAD, data])),
      ({ length }) => {
        writer.writableLength += length
        return writer
      },
    )
    expect(lent.length).toBeGreaterThan(10)
    expect(body().equals(data)).toBe(true)
    // What others read now does not touch it either.
    await read(
      (socket) => socket.write(Buffer.concat([HEAD, Buffer.alloc(BYTES)])),
      () => NOTHING_WAITS,
    )
    expect(body().equals(data)).toBe(true)
  })

  it('uses the memory of chunks again once all of them were written', async () => {
    const data = randomBytes(BYTES)
    const writer = { writableLength: 0 }
    let waiting = 0
    const { lent } = await read(
      (socket) => socket.write(Buffer.concat([HEAD, data])),
      ({ length }) => {
        waiting = (waiting + 1) % 3
        writer.writableLength = waiting === 0 ? 0 : writer.writableLength + length
        return writer
      },
    )
    expect(lent.length).toBeGreaterThan(10)
    expect(memoryOf(lent).size).toBeLessThanOrEqual(4)
  })

  it('reads at most four times before others have their turn', async () => {
    const reads: number[] = [0]
    const nextTurn = (): void => {
      reads.push(0)
      turn = setImmediate(nextTurn)
    }
    let turn = setImmediate(nextTurn)
    onTestFinished(() => clearImmediate(turn))
    await read(
      (socket) => socket.write(Buffer.concat([HEAD, randomBytes(BYTES)])),
      () => {
        reads.push(reads.pop()! + 1)
        return NOTHING_WAITS
      },
    )
    expect(Math.max(...reads)).toBeLessThanOrEqual(4)
  })

  it('leaves a chunk to whoever keeps it', async () => {
    const data = randomBytes(BYTES)
    const { body, lent } = await read(
      (socket) => socket.write(Buffer.concat([HEAD, data])),
      () => null,
    )
    expect(memoryOf(lent).size).toBe(lent.length)
    expect(body().equals(data)).toBe(true)
  })

  it('passes on copies of few bytes', async () => {
    const data = randomBytes(BYTES)
    const { arrived, lent } = await read(
      (socket) => {
        let at = 0
        const next = (): void => {
          if (at === 0) socket.write(HEAD)
          socket.write(data.subarray(at, (at += 10_000)), () => at < BYTES && setImmediate(setImmediate, next))
        }
        socket.setNoDelay(true)
        next()
      },
      () => NOTHING_WAITS,
    )
    const bytes = lent.reduce((sum, { length }) => sum + length, 0)
    expect(bytes).toBeLessThan(BYTES / 2)
    expect(arrived().equals(data)).toBe(true)
  })

  it('reports that more bytes than the body have arrived, and passes none of them on', async () => {
    const data = Buffer.alloc(BYTES, 'x')
    const { events, arrived } = await read(
      (socket) => socket.write(Buffer.concat([HEAD, data, Buffer.from('poison')])),
      () => NOTHING_WAITS,
    )
    expect(events).toEqual(['head', 'surplus'])
    expect(arrived().equals(data)).toBe(true)
  })

  it('leaves the messages behind it to the parser, also another large one', async () => {
    const data = randomBytes(BYTES)
    const { events, arrived } = await read(
      (socket) => socket.write(Buffer.concat([HEAD, data, HEAD, data, HEAD, data])),
      () => NOTHING_WAITS,
      { surplusMax: 0, count: 3 },
    )
    expect(events).toEqual(['head', 'end', 'head', 'end', 'head', 'end'])
    expect(arrived().equals(Buffer.concat([data, data, data]))).toBe(true)
  })
})
