/**
 * The body of a request on its way to the backend, as a stream of its own.
 *
 * Destroying it leaves the request and its connection alone, so that a refusal still reaches the client.
 * It knows whose turn it is: the client's while more is asked for, the backend's while what has arrived
 * is not taken.
 */

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Upload } from '../connection/upload-watch.ts'

export interface RequestBodyOptions {
  readonly request: IncomingMessage
  readonly upload: Upload
  /** The client may send; called once, before the first byte is asked for. */
  readonly onWanted: () => void
  /** The backend does not take what has arrived. */
  readonly onBackendsTurn: () => void
  /** The backend has taken what had arrived. */
  readonly onClientsTurn: () => void
  /** The last byte has been handed to the connection of the backend. */
  readonly onSent: () => void
}

export class RequestBody extends Readable {
  bytes = 0
  readonly #options: RequestBodyOptions
  #isAttached = false
  #isBackendsTurn = false
  #isWhole = false

  constructor(options: RequestBodyOptions) {
    super({ autoDestroy: true })
    this.#options = options
  }

  /** The client has sent all of it. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  override _read(): void {
    const { request, upload, onWanted, onClientsTurn } = this.#options
    if (!this.#isAttached) {
      this.#isAttached = true
      onWanted()
      upload.resume()
      request.on('data', this.#onData)
      request.on('end', this.#onEnd)
    }
    if (this.#isBackendsTurn && !this.#isWhole) {
      this.#isBackendsTurn = false
      upload.resume()
      onClientsTurn()
    }
    request.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { request, upload } = this.#options
    upload.end()
    request.off('data', this.#onData)
    request.off('end', this.#onEnd)
    if (!this.#isWhole) request.pause()
    done(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    const { request, upload, onBackendsTurn } = this.#options
    this.bytes += chunk.length
    upload.received(chunk.length)
    if (this.push(chunk) || this.#isBackendsTurn) return
    this.#isBackendsTurn = true
    request.pause()
    upload.pause()
    onBackendsTurn()
  }

  readonly #onEnd = (): void => {
    const { upload, onBackendsTurn, onSent } = this.#options
    this.#isWhole = true
    upload.end()
    // What is left may wait for the backend, though it is too little to hold up the client.
    if (!this.#isBackendsTurn) {
      this.#isBackendsTurn = true
      onBackendsTurn()
    }
    this.once('end', onSent)
    this.push(null)
  }
}
