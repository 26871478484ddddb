/** One request on a connection to a backend, from its start to the end of the response. */

import type { ChunkWriter } from '../chunk-writer.ts'
import type { BodySink, Exchange, ExchangeHandler, ExchangeRequest } from '../exchange.ts'

/** A connection, or the wait for one. */
export interface Carrier extends ChunkWriter {
  setReading(isReading: boolean): void
  /** The exchange is over before its end. */
  drop(): void
  writeBody(chunk: Buffer): boolean
  endBody(): boolean
}

export class Http1Exchange implements Exchange, BodySink, ChunkWriter {
  readonly request: ExchangeRequest
  readonly handler: ExchangeHandler
  readonly head: string
  isPaused = false
  isSent = false
  isAborted = false
  /** Null before a carrier is found, and after the end. */
  #carrier: Carrier | null = null

  constructor(request: ExchangeRequest, handler: ExchangeHandler, head: string) {
    this.request = request
    this.handler = handler
    this.head = head
  }

  get writer(): ChunkWriter {
    return this
  }

  get writableLength(): number {
    return this.#carrier?.writableLength ?? 0
  }

  carriedBy(carrier: Carrier | null): void {
    this.#carrier = carrier
  }

  pause(): void {
    if (this.isPaused) return
    this.isPaused = true
    this.#carrier?.setReading(false)
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.#carrier?.setReading(true)
  }

  abort(): void {
    this.isAborted = true
    const carrier = this.#carrier
    this.#carrier = null
    carrier?.drop()
  }

  write(chunk: Buffer): boolean {
    return this.#carrier === null || this.#carrier.writeBody(chunk)
  }

  end(): boolean {
    return this.#carrier === null || this.#carrier.endBody()
  }
}
