/** How much a client may send, on a connection or a stream (RFC 9113, 5.2). Both ends count the bytes of DATA frames. */
export class ReceiveWindow {
  readonly #size: number
  #left: number
  /** Bytes that were read since the last update. */
  #readBytes = 0

  constructor(size: number) {
    this.#size = size
    this.#left = size
  }

  /** A frame has arrived. Returns false if it is larger than the client may send. */
  take(bytes: number): boolean {
    this.#left -= bytes
    return this.#left >= 0
  }

  /** Bytes were read. Returns how many more bytes to announce to the client; 0 for too few. */
  read(bytes: number): number {
    this.#readBytes += bytes
    if (this.#readBytes < this.#size / 2) return 0
    const granted = this.#readBytes
    this.#left += granted
    this.#readBytes = 0
    return granted
  }
}
