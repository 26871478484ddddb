/**
 * Reads whole bodies into memory: those that are validated, and short ones that are forwarded as they
 * are. Stops reading at the bound, not after it.
 *
 * What all bodies of one thread hold, from their first byte to the end of their calls, is bounded as
 * well: many clients that are slow, each within its own bound, cannot fill the memory.
 */

import type { Call } from './call.ts'
import type { Upload, UploadWatch } from './upload-watch.ts'

/** Exactly one of these is called, unless the client goes away first. */
export interface BodyReader {
  onBody(body: Buffer): void
  onTooLarge(): void
  /** The client sends too slowly. */
  onSlow(): void
  /** The bodies of all calls of this thread hold as much memory as they may. */
  onNoRoom(): void
}

export interface BodyBuffers {
  read(call: Call, bytesMax: number, reader: BodyReader): void
}

const NOTHING = Buffer.alloc(0)
const HELD_BYTES_MAX = 256 * 1024 * 1024

export function createBodyBuffers(uploads: UploadWatch, heldBytesMax = HELD_BYTES_MAX): BodyBuffers {
  let heldBytes = 0

  return {
    read(call, bytesMax, reader) {
      const { request } = call
      const chunks: Buffer[] = []
      let bytes = 0
      let isReading = true
      const upload: Upload = uploads.create(() => call.attempt(() => stop(() => reader.onSlow())))

      const onData = (chunk: Buffer): void => {
        bytes += chunk.length
        heldBytes += chunk.length
        upload.received(chunk.length)
        if (bytes > bytesMax) call.attempt(() => stop(() => reader.onTooLarge()))
        else if (heldBytes > heldBytesMax) call.attempt(() => stop(() => reader.onNoRoom()))
        else chunks.push(chunk)
      }
      const onEnd = (): void => {
        const body = chunks.length === 1 ? chunks[0]! : bytes === 0 ? NOTHING : Buffer.concat(chunks, bytes)
        const length = bytes
        detach()
        if (call.isOver) return
        heldBytes += length
        call.response.once('close', () => (heldBytes -= length))
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
        heldBytes -= bytes
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
