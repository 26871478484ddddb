/** A request that arrives on a stream of HTTP/2. Its client may send as much of the body as the window of the stream allows. */

import type { HeaderMemo } from '../header-memo.ts'
import { ReceivedRequest, type RequestCarrier } from '../received-request.ts'

/** The stream of a request. */
export interface RequestStream extends RequestCarrier {
  /** The client may send as many bytes more. */
  onBodyRead(bytes: number): void
}

export class Http2Request extends ReceivedRequest {
  readonly isHttp2 = true
  override readonly httpVersionMajor = 2
  override readonly httpVersionMinor = 0
  readonly #stream: RequestStream

  constructor(stream: RequestStream, method: string, target: string, headerMemo: HeaderMemo) {
    super(stream, method, target, headerMemo)
    this.#stream = stream
  }

  protected override onPassedOn(bytes: number): void {
    this.#stream.onBodyRead(bytes)
  }
}
