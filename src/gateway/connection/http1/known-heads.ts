/**
 * Reads messages whose head has the same bytes as the one before on their connection, without the parser.
 *
 * Clients and backends repeat themselves: the same headers come with each request, and often with each response. To parse them again
 * costs 14 % of the CPU of a full call, most of it for the texts of the headers.
 *
 * Only bytes that the parser has accepted are known, and only of messages that take up a whole read, so that the parser is between
 * two messages before and after. The target of a request may differ: its characters are harmless, and so cannot change how the rest
 * is read.
 */

import { ownCopy } from '../../../foundation/runtime/own-copy.ts'
import { LastHeaders, type HeaderMemo } from '../header-memo.ts'
import { bodyBytesOf } from './framing-headers.ts'
import type { RequestEvents, RequestLine, ResponseEvents, StatusLine } from './message-parser.ts'

interface KnownHead<Line> {
  readonly line: Line
  readonly memo: HeaderMemo
  /** The whole head; the head of a request only from the end of its target on. */
  readonly bytes: Buffer
}

const HEAD_END = '\r\n\r\n'
const REQUEST_LINE_END = ' HTTP/1.1\r\n'
const HARMLESS_TARGET = /^\/[\w\-.~!$&'()*+,;=:@%/?]*$/
/** As much is kept per connection. */
const KEPT_BYTES_MAX = 8_192
/** A shorter body soon becomes a part of a text. */
const POOLED_BYTES_MAX = 4_096

abstract class KnownHeads<Line, Events> {
  protected readonly events: Events
  protected known: KnownHead<Line> | null = null
  protected readonly headBytesMax: number
  readonly #last = new LastHeaders()
  #memo: HeaderMemo | null = null
  /** Heads in this read. */
  #heads = 0
  /** The last one, if it may be read without the parser next time. */
  #line: Line | null = null
  #isStopped = false

  constructor(events: Events, headBytesMax: number) {
    this.events = events
    this.headBytesMax = headBytesMax
  }

  /** Returns the memo of equal headers, or a new one. */
  find(raw: readonly string[], key: number): HeaderMemo {
    return (this.#memo = this.#last.find(raw, key))
  }

  /** Frees what was kept. */
  evict(): void {
    this.#last.evict()
    this.#memo = this.#line = this.known = null
  }

  /** The parser accepts no other message, and so nothing is read without it. */
  stop(): void {
    this.#isStopped = true
    this.known = null
  }

  /** The parser starts a read. */
  begin(): void {
    this.#heads = 0
    this.#line = null
  }

  /** The parser has read a head. */
  add(line: Line, mayBeKnown: boolean): void {
    this.#heads++
    this.#line = mayBeKnown ? line : null
  }

  /** The parser has read `bytes`, which began with a message. Headers that come for the first time are not kept. */
  learn(bytes: Buffer): void {
    const line = this.#line
    const memo = this.#memo
    if (line === null || memo === null || this.#heads !== 1 || !this.#last.isRepeated || this.#isStopped) return
    const known = this.bytesOf(line, memo, bytes)
    this.known = known === null || known.length > KEPT_BYTES_MAX ? null : { line, memo, bytes: ownCopy(known) }
  }

  /** Whether no message ends with its connection; asking the parser about such a one would end it. */
  abstract readonly haveKnownEnds: boolean

  /** Passes on the message if its head is known. Returns false otherwise. */
  abstract read(bytes: Buffer): boolean

  /** Returns the bytes to recognise, or null if the message has others than these and its body. */
  protected abstract bytesOf(line: Line, memo: HeaderMemo, bytes: Buffer): Buffer | null
}

/** Requests without a body. */
export class KnownRequests extends KnownHeads<RequestLine, RequestEvents> {
  override readonly haveKnownEnds = true

  override read(bytes: Buffer): boolean {
    const { known } = this
    if (known === null || bytes.length >= this.headBytesMax) return false
    const { method } = known.line
    const start = method.length + 1
    const end = bytes.length - known.bytes.length
    if (end <= start || !startsWith(bytes, method)) return false
    if (known.bytes.compare(bytes, end) !== 0) return false
    const target = bytes.toString('latin1', start, end)
    if (!HARMLESS_TARGET.test(target)) return false
    this.events.onHead({ major: 1, minor: 1, method, target, mayStayOpen: true }, known.memo.raw)
    this.events.onComplete()
    this.events.onRead(null, null)
    return true
  }

  protected override bytesOf({ method, target }: RequestLine, _memo: HeaderMemo, bytes: Buffer): Buffer | null {
    if (!HARMLESS_TARGET.test(target)) return null
    const line = `${method} ${target}${REQUEST_LINE_END}`
    if (bytes.toString('latin1', 0, line.length) !== line) return null
    if (bytes.indexOf(HEAD_END, 0, 'latin1') !== bytes.length - HEAD_END.length) return null
    return bytes.subarray(line.length - REQUEST_LINE_END.length)
  }
}

/** Whether the method stands before a space. */
function startsWith(bytes: Buffer, method: string): boolean {
  for (let index = 0; index < method.length; index++) {
    if (bytes[index] !== method.charCodeAt(index)) return false
  }
  return bytes[method.length] === 0x20
}

/** Responses whose body has a known length. */
export class KnownResponses extends KnownHeads<StatusLine, ResponseEvents> {
  override readonly haveKnownEnds = false

  override read(bytes: Buffer): boolean {
    const { known } = this
    if (known === null) return false
    const { length } = known.bytes
    if (bytes.length !== length + bodyBytesOf(known.memo) || !this.events.expectsBody()) return false
    if (known.bytes.compare(bytes, 0, length) !== 0) return false
    const body = bytes.subarray(length)
    // Before anything else is read into the same memory.
    const copy = body.length <= POOLED_BYTES_MAX ? Buffer.from(body) : ownCopy(body)
    this.events.onHead(known.line, known.memo.raw)
    this.events.onBody(copy)
    this.events.onRead(null, null)
    return true
  }

  protected override bytesOf(_line: StatusLine, memo: HeaderMemo, bytes: Buffer): Buffer | null {
    const length = bytes.indexOf(HEAD_END, 0, 'latin1') + HEAD_END.length
    const isWhole = bytes.toString('latin1', 0, 5) === 'HTTP/' && bytes.length === length + bodyBytesOf(memo)
    return isWhole && length < this.headBytesMax ? bytes.subarray(0, length) : null
  }
}
