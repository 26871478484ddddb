/**
 * Passes the body of a request on to the backend while it arrives.
 *
 * Stopping it does not end the request and its connection, so that a refusal still reaches the client. It reports which side
 * blocks: the backend while it does not read the received bytes, otherwise the client.
 */

import type { ClientRequest } from '../connection/client.ts'
import type { BodySink, BodySource } from '../connection/exchange.ts'
import type { Upload } from '../connection/upload-watch.ts'

export interface RequestBodyOptions {
  readonly request: ClientRequest
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

export class RequestBody implements BodySource {
  bytes = 0
  readonly #options: RequestBodyOptions
  #sink: BodySink | null = null
  #isBlocked = false
  #isComplete = false

  constructor(options: RequestBodyOptions) {
    this.#options = options
  }

  /** True once the client has sent the complete body. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  start(sink: BodySink): void {
    const { request, upload, onFirstRead } = this.#options
    this.#sink = sink
    onFirstRead()
    upload.resume()
    request.writer = sink.writer
    request.on('data', this.#onData)
    request.on('end', this.#onEnd)
    request.resume()
  }

  drained(): void {
    const { request, upload, onDrain, onSent } = this.#options
    if (!this.#isBlocked || this.#sink === null) return
    this.#isBlocked = false
    if (this.#isComplete) return onSent()
    upload.resume()
    onDrain()
    request.resume()
  }

  /** Passes nothing more on. */
  stop(): void {
    const { request, upload } = this.#options
    this.#sink = null
    upload.end()
    request.writer = null
    request.off('data', this.#onData)
    request.off('end', this.#onEnd)
    if (!this.#isComplete) request.pause()
  }

  readonly #onData = (chunk: Buffer): void => {
    const { request, upload, onBlocked } = this.#options
    this.bytes += chunk.length
    upload.received(chunk.length)
    if (this.#sink?.write(chunk) !== false || this.#isBlocked) return
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
    if (!this.#isBlocked) onBlocked()
    this.#isBlocked = this.#sink?.end() === false
    if (!this.#isBlocked) onSent()
  }
}
