import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { deliveredBytes, PlainReader, ReaderWatch } from '../../../../src/gateway/connection/reader-watch.ts'
import type { ReadUnreadBytes } from '../../../../src/gateway/connection/unread-bytes.ts'

describe('deliveredBytes', () => {
  it('counts the bytes that the kernel has accepted, also in the middle of a large write', async () => {
    const BYTES = 50_000_000
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    const [writer] = (await once(server, 'connection')) as [Socket]
    onTestFinished(() => {
      reader.destroy()
      writer.destroy()
      server.close()
    })
    writer.write(Buffer.alloc(BYTES))
    const before = deliveredBytes(writer)
    expect(before).toBeGreaterThan(0)
    expect(before).toBeLessThan(BYTES)

    reader.resume()
    await once(writer, 'drain')
    expect(deliveredBytes(writer)).toBe(BYTES)
  })
})

describe('ReaderWatch', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  /** A reader of which the kernel accepts nothing more; `acknowledged` grows by `bytesPerSecond`. */
  async function disconnectedAfter(bytesPerSecond: number, seconds: number, isMeasured = true): Promise<number | null> {
    let acknowledged = 0
    let endedAt: number | null = null
    let second = 0
    const readUnread: ReadUnreadBytes = async (sockets) =>
      new Map(isMeasured ? sockets.map((each) => [each, 4_000_000 - acknowledged]) : [])
    const onFault = (cause: unknown): never => expect.fail(String(cause))
    const watch = new ReaderWatch(onFault, { windowMs: 10_000, pendingBytesMax: 1e9, scanEveryMs: 1_000 }, readUnread)
    const socket = { _bytesDispatched: 4_000_000, destroy() {} } as unknown as Socket
    const reader = new PlainReader(
      socket,
      { socket, writableLength: 65_536, disconnect() {} },
      () => (endedAt = second),
    )
    watch.enter(reader)
    while (second < seconds && endedAt === null) {
      second++
      acknowledged += bytesPerSecond
      await vi.advanceTimersByTimeAsync(1_000)
    }
    watch.leave(reader)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(vi.getTimerCount()).toBe(0)
    return endedAt
  }

  it('leaves a reader alone that reads fast enough, although the kernel accepts nothing more', async () => {
    expect(await disconnectedAfter(4_100, 60)).toBeNull()
  })

  it('disconnects a reader that reads too slowly, at the end of its window', async () => {
    expect(await disconnectedAfter(4_000, 60)).toBe(11)
    expect(await disconnectedAfter(0, 60)).toBe(11)
  })

  it('disconnects a reader at the end of its window if nothing tells how much it has read', async () => {
    expect(await disconnectedAfter(4_100, 60, false)).toBe(11)
  })

  it('disconnects the slowest readers, until the others have no more queued bytes than allowed', async () => {
    const ended: number[] = []
    const watch = new ReaderWatch(() => {}, { windowMs: 10_000, pendingBytesMax: 100, scanEveryMs: 1_000 })
    const delivered = [0, 0, 0, 0]
    let writableLength = 25
    for (const index of delivered.keys()) {
      const socket = {
        get _bytesDispatched() {
          return delivered[index]!
        },
        destroy() {},
      } as unknown as Socket
      const response = {
        socket,
        disconnect() {},
        get writableLength() {
          return writableLength
        },
      }
      watch.enter(new PlainReader(socket, response, () => ended.push(index)))
    }
    await vi.advanceTimersByTimeAsync(1_000)
    expect(ended).toEqual([])
    delivered.splice(0, 4, 1_000, 0, 10, 500)
    writableLength = 50
    await vi.advanceTimersByTimeAsync(1_000)
    expect(ended).toEqual([1, 2])
  })
})
