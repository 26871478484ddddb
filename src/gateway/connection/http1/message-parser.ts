/** A parser of HTTP/1.1 messages, and what it reports. */

import type { HeaderMemo } from '../header-memo.ts'
import type { ParserError } from '../parser-errors.ts'

/**
 * How the end of a message is found. Each call from the parser costs about 0.8 % of a full call.
 *
 * - `head`: the message has no body; `onComplete` follows at once.
 * - `counted`: the receiver counts the bytes of the body; `onComplete` is not called.
 * - `reported`: the parser calls `onComplete`.
 */
export type MessageEnd = 'head' | 'counted' | 'reported'

/** Receives the parts of the messages on one connection. No method may throw. */
export interface MessageEvents {
  /** The chunk belongs to the receiver: the parser has copied it. The small parts of one read after the first arrive as one chunk. */
  onBody(chunk: Buffer): void
  onComplete(): void
  /** The bytes of one read were parsed, or are invalid. `rest` are those that were ignored, because they follow a message about an upgrade. */
  onRead(error: ParserError | null, rest: Buffer | null): void
}

export interface ResponseEvents extends MessageEvents {
  /** The next part of a long head, or a part of a trailer. */
  onHeaders(headers: string[]): void
  /** The end of a head; `headers` is null if `onHeaders` has received them all. After `head`, the parser expects no body either. */
  onHead(line: StatusLine, headers: readonly string[] | null): MessageEnd
  /** Whether the next head may be that of a response with a body. */
  expectsBody(): boolean
}

export interface StatusLine {
  readonly major: number
  readonly minor: number
  readonly status: number
  readonly isUpgrade: boolean
  readonly mayStayOpen: boolean
}

export interface RequestEvents extends MessageEvents {
  /** The next part of a long head, or a part of a trailer; `target` is the next part of the request target. */
  onHeaders(headers: string[], target: string): void
  /** The end of a head; `headers` is null if `onHeaders` has received them and the target. Not `head` if the headers frame a body. */
  onHead(line: RequestLine, headers: readonly string[] | null): MessageEnd
}

export interface RequestLine {
  readonly major: number
  readonly minor: number
  readonly method: string
  readonly target: string
  readonly mayStayOpen: boolean
}

/** Parses the messages that arrive on one connection. */
export interface MessageParser {
  /** Parts of bodies since the receiver has set the count to 0; each costs time, however few bytes it has. */
  readonly parts: { count: number }
  /** Remembers the last head. The receiver looks up the headers of each one. */
  readonly heads: { find(headers: readonly string[], key: number): HeaderMemo; evict(): void }
  /** Keeps none of the bytes: those of another read may take their place. */
  parse(bytes: Buffer): void
  /** Goes on with the next message, in the midst of a body. */
  restart(): void
  /** If a message about an upgrade came last, nothing behind it is parsed. From the next read on, it is. */
  continueAfterUpgrade(): void
  /** Reports the end of the connection: completes a message whose body ends there. Returns an error for any other. */
  finish(): ParserError | null
  /** Whether no part of a message has arrived since the last one. Not for responses that end with their connection. */
  isBetweenMessages(): boolean
  close(): void
}

export interface HttpParser {
  readResponses(events: ResponseEvents, headBytesMax: number): MessageParser
  readRequests(events: RequestEvents, headBytesMax: number): MessageParser
}
