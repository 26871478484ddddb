/**
 * Body of a request as a separate stream to the backend.
 *
 * Destroying it does not destroy the request and its connection, so that a refusal still reaches the client. It
 * reports which side blocks: the backend while it does not read the received bytes, otherwise the client.
 */

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Upload } from '../connection/upload-watch.ts'

export interface RequestBodyOptions {
  readonly request: IncomingMessage
  readonly upload: Upload
  /** Called once, before the first byte is read. */
  readonly onFirstRead: () => void
  /** The backend does not read the received bytes. */
  readonly onBlocked: () => void
  /** The backend has read all received bytes. */
  readonly onDrain: () => void
  /** The last byte was passed to the connection of the backend. */
  readonly onSent: () => void
}

export class RequestBody extends Readable {
  bytes = 0
  readonly #options: RequestBodyOptions
  #isAttached = false
  #isBlocked = false
  #isComplete = false

  constructor(options: RequestBodyOptions) {
    super({ autoDestroy: true })
    this.#options = options
  }

  /** True once the client has sent the complete body. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  override _read(): void {
    const { request, upload, onFirstRead, onDrain } = this.#options
    if (!this.#isAttached) {
      this.#isAttached = true
      onFirstRead()
      upload.resume()
      request.on('data', this.#onData)
      request.on('end', this.#onEnd)
    }
    if (this.#isBlocked && !this.#isComplete) {
      this.#isBlocked = false
      upload.resume()
      onDrain()
    }
    request.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { request, upload } = this.#options
    upload.end()
    request.off('data', this.#onData)
    request.off('end', this.#onEnd)
    if (!this.#isComplete) request.pause()
    done(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    const { request, upload, onBlocked } = this.#options
    this.bytes += chunk.length
    upload.received(chunk.length)
    if (this.push(chunk) || this.#isBlocked) return
    this.#isBlocked = true
    request.pause()
    upload.pause()
    onBlocked()
  }

  readonly #onEnd = (): void => {
    const { upload, onBlocked, onSent } = this.#options
    this.#isComplete = true
    upload.end()
    // The backend may still have to read bytes that were too few to pause the client.
    if (!this.#isBlocked) {
      this.#isBlocked = true
      onBlocked()
    }
    this.once('end', onSent)
    this.push(null)
  }
}
