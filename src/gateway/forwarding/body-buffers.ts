/**
 * Reads whole bodies into memory: those that are validated, and short ones that are forwarded as they
 * are. Stops reading at the bound, not after it.
 *
 * What all bodies of one thread hold, from their first byte to the end of their calls, is bounded as
 * well: many clients that are slow, each within its own bound, cannot fill the memory. One subscription
 * (public calls of an API count as one) has half of it at most, so that it leaves room for others.
 */

import type { Call } from '../call/call.ts'
import { ChunkList } from '../connection/chunk-list.ts'
import type { Upload, UploadWatch } from '../connection/upload-watch.ts'

/** Exactly one of these is called, unless the client goes away first. */
export interface BodyReader {
  onBody(body: Buffer): void
  onTooLarge(): void
  /** The client sends too slowly. */
  onSlow(): void
  /** The bodies of its subscription, or of all calls of this thread, hold as much memory as they may. */
  onNoRoom(): void
}

export interface BodyBuffers {
  read(call: Call, bytesMax: number, reader: BodyReader): void
}

const HELD_BYTES_MAX = 256 * 1024 * 1024

export function createBodyBuffers(uploads: UploadWatch, heldBytesMax = HELD_BYTES_MAX): BodyBuffers {
  const holders = new Map<string, number>()
  let heldBytes = 0

  /** Adds to what a holder holds; takes from it if `bytes` is negative. True if there was room. */
  function hold(holder: string, bytes: number): boolean {
    heldBytes += bytes
    const own = (holders.get(holder) ?? 0) + bytes
    if (own === 0) holders.delete(holder)
    else holders.set(holder, own)
    return heldBytes <= heldBytesMax && own * 2 <= heldBytesMax
  }

  return {
    read(call, bytesMax, reader) {
      const { request, attribution } = call
      const holder = attribution.subscription === '' ? attribution.api : attribution.subscription
      const chunks = new ChunkList()
      let isReading = true
      const upload: Upload = uploads.create(() => call.attempt(() => stop(() => reader.onSlow())))

      const onData = (chunk: Buffer): void => {
        chunks.add(chunk)
        upload.received(chunk.length)
        const hasRoom = hold(holder, chunk.length)
        if (chunks.bytes > bytesMax) call.attempt(() => stop(() => reader.onTooLarge()))
        else if (!hasRoom) call.attempt(() => stop(() => reader.onNoRoom()))
      }
      const onEnd = (): void => {
        const body = chunks.join()
        detach()
        if (call.isOver) return
        hold(holder, body.length)
        call.response.once('close', () => hold(holder, -body.length))
        call.attempt(() => reader.onBody(body))
      }
      const stop = (then: () => void): void => {
        detach()
        request.pause()
        then()
      }
      const detach = (): void => {
        if (!isReading) return
        isReading = false
        hold(holder, -chunks.bytes)
        upload.end()
        request.off('data', onData)
        request.off('end', onEnd)
        request.off('close', detach)
      }
      request.on('data', onData)
      request.on('end', onEnd)
      request.on('close', detach)
      upload.resume()
      call.continueBody()
    },
  }
}
