/** Collects the response of a backend in memory, up to a bound, and passes it on as a whole. */

import type { Call } from '../call/call.ts'
import type { ResponseReceiver } from '../call/routed-call.ts'
import { ChunkList } from '../connection/chunk-list.ts'
import type { Exchange } from '../connection/exchange.ts'
import type { HeaderMemo } from '../connection/header-memo.ts'
import type { ResponseHead } from '../headers/upstream-response.ts'
import type { BodySample } from './drift-sampling.ts'
import { readHeadFor, type RelayOptions, type ResponseSink, type UpstreamDeadline } from './response-relay.ts'

export class ResponseCollector implements ResponseSink {
  readonly isHeadSent = false
  readonly isPaused = false
  readonly #call: Call
  readonly #options: RelayOptions
  readonly #deadline: UpstreamDeadline
  readonly #receiver: ResponseReceiver
  readonly #chunks = new ChunkList()
  #head: ResponseHead | null = null
  #received = 0
  #sample: BodySample | null = null

  constructor(call: Call, options: RelayOptions, deadline: UpstreamDeadline, receiver: ResponseReceiver) {
    this.#call = call
    this.#options = options
    this.#deadline = deadline
    this.#receiver = receiver
  }

  get bytesReceived(): number {
    return this.#received
  }

  get isTruncated(): boolean {
    const length = this.#head?.length ?? -1
    if (length < 0 || this.#received >= length) return false
    return this.#options.method !== 'HEAD' && this.#call.status !== 304
  }

  get isFull(): boolean {
    return this.#received > this.#receiver.bytesMax
  }

  takeHead(_exchange: Exchange, status: number, headers: HeaderMemo): boolean {
    const { drift, operation } = this.#options
    const head = readHeadFor(this.#options, status, headers)
    if (head.isUnreadable) return false
    this.#call.status = status
    this.#head = head
    this.#sample = drift.checkHead(this.#call, operation, status, head)
    return true
  }

  takeChunk(_exchange: Exchange, chunk: Buffer): null {
    this.#sample?.add(chunk)
    const { meter } = this.#options
    // The client receives no more of the response than that.
    if (meter !== null) meter.deliver(chunk.subarray(0, Math.max(0, this.#receiver.bytesMax - this.#received)))
    this.#received += chunk.length
    this.#chunks.add(chunk)
    this.#deadline.restart()
    return null
  }

  end(): void {
    const { bytesMax } = this.#receiver
    this.#receiver.receive({
      status: this.#call.status,
      contentType: this.#head?.contentType,
      contentEncoding: this.#head?.contentEncoding,
      body: this.#chunks.join().subarray(0, bytesMax),
      isCut: this.isFull,
    })
    if (!this.isFull) this.#sample?.end()
  }

  stop(): void {}
}
