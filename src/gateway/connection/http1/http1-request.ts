/** A request that arrives over HTTP/1.1. */

import type { HeaderMemo } from '../header-memo.ts'
import { ReceivedRequest, type RequestCarrier } from '../received-request.ts'
import { bodyBytesOf } from './framing-headers.ts'
import type { RequestLine } from './message-parser.ts'

export class Http1Request extends ReceivedRequest {
  override readonly httpVersionMajor: number
  override readonly httpVersionMinor: number
  /** The client may send another request on the connection. */
  readonly #mayStayOpen: boolean

  constructor(carrier: RequestCarrier, line: RequestLine, target: string, headerMemo: HeaderMemo) {
    super(carrier, line.method, target, headerMemo)
    this.httpVersionMajor = line.major
    this.httpVersionMinor = line.minor
    this.#mayStayOpen = line.mayStayOpen
  }

  /** Bytes that are still to arrive, if it is certain how many, and they are only passed on. */
  get passedOnBytes(): number {
    if (this.writer === null || !this.#mayStayOpen) return 0
    return bodyBytesOf(this.headerMemo) - this.receivedBytes
  }
}
