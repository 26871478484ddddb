/** Collects the response of a backend in memory, up to a bound, and passes it on as a whole. */

import type { Dispatcher } from 'undici'
import type { IncomingHttpHeaders } from 'undici/types/header.js'
import type { Call } from '../call/call.ts'
import type { ResponseReceiver } from '../call/routed-call.ts'
import { readResponseHead } from '../headers/upstream-response.ts'
import type { BodySample } from './drift-sampling.ts'
import type { RelayOptions, ResponseSink, UpstreamDeadline } from './response-relay.ts'

type Controller = Dispatcher.DispatchController

export class ResponseCollector implements ResponseSink {
  readonly isHeadSent = false
  readonly isPaused = false
  readonly #call: Call
  readonly #options: RelayOptions
  readonly #deadline: UpstreamDeadline
  readonly #receiver: ResponseReceiver
  readonly #chunks: Buffer[] = []
  #headers: IncomingHttpHeaders = {}
  #contentLength = -1
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
    if (this.#contentLength < 0 || this.#received >= this.#contentLength) return false
    return this.#options.method !== 'HEAD' && this.#call.status !== 304
  }

  get isFull(): boolean {
    return this.#received > this.#receiver.bytesMax
  }

  takeHead(_controller: Controller, status: number, headers: IncomingHttpHeaders): boolean {
    const { responseRules, drift, operation } = this.#options
    const { length, isUnreadable } = readResponseHead(status, headers, responseRules)
    if (isUnreadable) return false
    this.#call.status = status
    this.#headers = headers
    this.#contentLength = length
    this.#sample = drift.checkHead(this.#call, operation, status, headers)
    return true
  }

  takeChunk(_controller: Controller, chunk: Buffer): void {
    this.#sample?.add(chunk)
    this.#received += chunk.length
    this.#chunks.push(chunk)
    this.#deadline.restart()
  }

  end(): void {
    const { bytesMax } = this.#receiver
    this.#receiver.receive({
      status: this.#call.status,
      contentType: textOf(this.#headers['content-type']),
      contentEncoding: textOf(this.#headers['content-encoding']),
      body:
        this.#chunks.length === 1
          ? this.#chunks[0]!.subarray(0, bytesMax)
          : Buffer.concat(this.#chunks, Math.min(this.#received, bytesMax)),
      isCut: this.isFull,
    })
    if (!this.isFull) this.#sample?.end()
  }

  stop(): void {}
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
