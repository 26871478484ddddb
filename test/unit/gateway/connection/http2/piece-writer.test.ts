import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { PieceWriter } from '../../../../../src/gateway/connection/http2/piece-writer.ts'

/** A stream that sends what was written when the test says so. */
class HeldStream extends Writable {
  readonly sent: number[] = []
  #callback: (() => void) | null = null

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.sent.push(chunk.length)
    this.#callback = callback
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    this.sent.push(chunks.reduce((sum, { chunk }) => sum + chunk.length, 0))
    this.#callback = callback
  }

  async release(): Promise<void> {
    const callback = this.#callback
    this.#callback = null
    callback?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('PieceWriter', () => {
  it('passes on a large chunk in pieces, one after the other', async () => {
    const stream = new HeldStream()
    const pieces = new PieceWriter(stream, () => {})
    expect(pieces.write(Buffer.alloc(40_000))).toBe(true)
    const states: number[][] = []
    for (let round = 0; round < 4; round++) {
      states.push([stream.sent.length, pieces.deliveredBytes, pieces.length])
      await stream.release()
    }
    expect(stream.sent).toEqual([16_384, 16_384, 7_232])
    expect(states).toEqual([
      [1, 0, 40_000],
      [2, 16_384, 23_616],
      [3, 32_768, 7_232],
      [3, 40_000, 0],
    ])
  })

  it('joins small chunks that wait', async () => {
    const stream = new HeldStream()
    const pieces = new PieceWriter(stream, () => {})
    for (let count = 0; count < 100; count++) pieces.write(Buffer.alloc(1_000))
    for (let round = 0; round < 10; round++) await stream.release()
    expect(stream.sent).toEqual([1_000, 16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 696])
  })

  it('asks for a pause until all is sent, once', async () => {
    let drained = 0
    const stream = new HeldStream()
    const pieces = new PieceWriter(stream, () => drained++)
    expect(pieces.write(Buffer.alloc(65_536))).toBe(false)
    expect(pieces.write(Buffer.alloc(1))).toBe(false)
    for (let round = 0; round < 4; round++) await stream.release()
    expect(drained).toBe(0)
    await stream.release()
    await stream.release()
    expect(drained).toBe(1)
  })

  it('ends the stream after its last piece', async () => {
    const stream = new HeldStream()
    const pieces = new PieceWriter(stream, () => expect.fail('nothing more is written'))
    pieces.write(Buffer.alloc(100_000))
    pieces.end(Buffer.alloc(10))
    for (let round = 0; round < 6; round++) {
      expect(stream.writableEnded).toBe(false)
      await stream.release()
    }
    expect(stream.writableEnded).toBe(true)
    await stream.release()
    expect([stream.writableFinished, stream.sent.reduce((sum, bytes) => sum + bytes)]).toEqual([true, 100_010])
  })

  it('ends a stream without a body', () => {
    const stream = new HeldStream()
    new PieceWriter(stream, () => {}).end(null)
    expect(stream.writableEnded).toBe(true)
  })

  it('passes on nothing more after it was told to drop it', async () => {
    const stream = new HeldStream()
    const pieces = new PieceWriter(stream, () => {})
    pieces.write(Buffer.alloc(100_000))
    pieces.drop()
    stream.destroy()
    await stream.release()
    expect(stream.sent).toEqual([16_384])
  })
})
