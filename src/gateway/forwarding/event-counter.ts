/**
 * Counts server-sent events in the bytes of a stream as clients dispatch them (HTML Standard, 9.2.6): blocks that end with a blank
 * line and have at least one `data` field. Comments and other fields alone, such as heartbeats, are no events, and neither is a
 * block that the stream ends in.
 *
 * Lines end with CR, LF or CRLF. Chunks may end anywhere, also within a CRLF or the byte order mark.
 */

const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
const DATA = [0x64, 0x61, 0x74, 0x61]
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** Position in a line: below `NAMED`, as many characters of `data` have been read; then the name is complete or another one. */
const LINE_START = 0
const NAMED = 4
const IN_LINE = 5

export class EventCounter {
  count = 0
  #position = LINE_START
  #hasData = false
  #isAfterCr = false
  /** Bytes of the mark that were read; 3 if there is none, or no more. */
  #markBytes = 0

  add(chunk: Uint8Array): void {
    let index = this.#markBytes === 3 ? 0 : this.#skipMark(chunk)
    while (index < chunk.length) {
      // Most bytes are skipped here.
      if (this.#position === IN_LINE && (index = lineEnd(chunk, index)) === chunk.length) return
      const byte = chunk[index++]!
      if (byte === LF && this.#isAfterCr) this.#isAfterCr = false
      else if (byte === CR || byte === LF) this.#endLine(byte)
      else this.#readName(byte)
    }
  }

  #endLine(byte: number): void {
    if (this.#position === NAMED) this.#hasData = true
    else if (this.#position === LINE_START) {
      if (this.#hasData) this.count++
      this.#hasData = false
    }
    this.#position = LINE_START
    this.#isAfterCr = byte === CR
  }

  #readName(byte: number): void {
    this.#isAfterCr = false
    if (this.#position < NAMED) this.#position = byte === DATA[this.#position] ? this.#position + 1 : IN_LINE
    else {
      if (byte === COLON) this.#hasData = true
      this.#position = IN_LINE
    }
  }

  /** Returns where the text begins in the chunk. */
  #skipMark(chunk: Uint8Array): number {
    let index = 0
    while (index < chunk.length && this.#markBytes < 3) {
      if (chunk[index] !== BYTE_ORDER_MARK[this.#markBytes]) {
        // A part of the mark is the beginning of a line.
        if (this.#markBytes > 0) this.#position = IN_LINE
        this.#markBytes = 3
        break
      }
      this.#markBytes++
      index++
    }
    return index
  }
}

function lineEnd(chunk: Uint8Array, from: number): number {
  let index = from
  while (index < chunk.length && chunk[index] !== LF && chunk[index] !== CR) index++
  return index
}
