/**
 * Reads complete bodies into memory: those that are validated, and short ones. Stops reading at the limit.
 *
 * The bodies of one thread are also bounded together, from their first byte to the end of their calls, so that many
 * slow clients cannot fill the memory. One subscription may hold half of that bound. Public calls of an API count
 * as one subscription.
 */

import type { Call } from '../call/call.ts'
import { ChunkList } from '../connection/chunk-list.ts'
import type { Upload, UploadWatch } from '../connection/upload-watch.ts'

/** Receives exactly one of these calls, unless the client disconnects first. */
export interface BodyReader {
  onBody(body: Buffer): void
  onTooLarge(): void
  /** The client sends too slowly. */
  onSlow(): void
  /** The bodies of the subscription, or of the thread, have reached their bound. */
  onNoRoom(): void
}

export interface BodyBuffers {
  read(call: Call, bytesMax: number, reader: BodyReader): void
}

const HELD_BYTES_MAX = 256 * 1024 * 1024

export function createBodyBuffers(uploads: UploadWatch, heldBytesMax = HELD_BYTES_MAX): BodyBuffers {
  const memory = new BodyMemory(heldBytesMax)
  return { read: (call, bytesMax, reader) => new BodyBuffer(call, bytesMax, reader, memory, uploads).start() }
}

/** Counts the bytes of all buffered bodies of one thread, by holder. */
class BodyMemory {
  readonly #bytesMax: number
  readonly #byHolder = new Map<string, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Counts the bytes, also above the bound. Returns whether they are within it. */
  add(holder: string, bytes: number): boolean {
    this.#bytes += bytes
    const own = (this.#byHolder.get(holder) ?? 0) + bytes
    if (own === 0) this.#byHolder.delete(holder)
    else this.#byHolder.set(holder, own)
    return this.#bytes <= this.#bytesMax && own * 2 <= this.#bytesMax
  }

  remove(holder: string, bytes: number): void {
    this.add(holder, -bytes)
  }
}

/** One body that is being read. */
class BodyBuffer {
  readonly #call: Call
  readonly #bytesMax: number
  readonly #reader: BodyReader
  readonly #memory: BodyMemory
  readonly #holder: string
  readonly #chunks = new ChunkList()
  readonly #upload: Upload
  #isReading = true

  constructor(call: Call, bytesMax: number, reader: BodyReader, memory: BodyMemory, uploads: UploadWatch) {
    const { subscription, api } = call.attribution
    this.#call = call
    this.#bytesMax = bytesMax
    this.#reader = reader
    this.#memory = memory
    this.#holder = subscription === '' ? api : subscription
    this.#upload = uploads.create(() => call.attempt(() => this.#stop('onSlow')))
  }

  start(): void {
    const { request } = this.#call
    request.on('data', this.#onData)
    request.on('end', this.#onEnd)
    request.on('close', this.#detach)
    this.#upload.resume()
    this.#call.continueBody()
  }

  readonly #onData = (chunk: Buffer): void => {
    const call = this.#call
    this.#chunks.add(chunk)
    this.#upload.received(chunk.length)
    const hasRoom = this.#memory.add(this.#holder, chunk.length)
    if (this.#chunks.bytes > this.#bytesMax) call.attempt(() => this.#stop('onTooLarge'))
    else if (!hasRoom) call.attempt(() => this.#stop('onNoRoom'))
  }

  readonly #onEnd = (): void => {
    const call = this.#call
    const body = this.#chunks.join()
    this.#detach()
    if (call.isOver) return
    this.#memory.add(this.#holder, body.length)
    call.response.once('close', () => this.#memory.remove(this.#holder, body.length))
    call.attempt(() => this.#reader.onBody(body))
  }

  /** Stops reading and reports the reason. */
  #stop(reason: 'onSlow' | 'onTooLarge' | 'onNoRoom'): void {
    this.#detach()
    this.#call.request.pause()
    this.#reader[reason]()
  }

  readonly #detach = (): void => {
    if (!this.#isReading) return
    this.#isReading = false
    this.#memory.remove(this.#holder, this.#chunks.bytes)
    this.#upload.end()
    const { request } = this.#call
    request.off('data', this.#onData)
    request.off('end', this.#onEnd)
    request.off('close', this.#detach)
  }
}
