/**
 * The HTTP/1.1 parser of Node (llhttp), in strict mode, as `node:http` uses it.
 *
 * It is not part of Node's documented interface. `findHttpParser` therefore tests its behaviour first; if it is missing or differs,
 * another implementation serves (`backend-connections.ts`). Our dependencies pin the version of Node.
 */

import { createRequire } from 'node:module'
import type { Socket } from 'node:net'

export interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string
}

/** Receives the parts of the responses on one connection. No method may throw. */
export interface ResponseEvents {
  /** The first byte of a response. */
  onBegin(): void
  /** The next part of a long head, or a part of a trailer. */
  onHeaders(headers: string[]): void
  /** The end of a head; `headers` is null if `onHeaders` has received them all. Returns whether the response has no body. */
  onHead(line: StatusLine, headers: string[] | null): boolean
  /** The chunk belongs to the receiver: the parser has copied it. */
  onBody(chunk: Buffer): void
  onComplete(): void
  /** The bytes of one read were parsed, or are invalid. */
  onRead(error: ParserError | null): void
}

export interface StatusLine {
  readonly major: number
  readonly minor: number
  readonly status: number
  readonly isUpgrade: boolean
  readonly mayStayOpen: boolean
}

interface RawParser {
  initialize(type: number, resource: object, headBytesMax: number, lenientFlags: number): void
  execute(bytes: Uint8Array): number | ParserError
  finish(): ParserError | undefined
  consume(handle: object): void
  unconsume(): void
  close(): void
  [callback: number]: (...parts: never[]) => unknown
}

interface ParserClass {
  new (): RawParser
  readonly RESPONSE: number
  readonly kOnMessageBegin: number
  readonly kOnHeaders: number
  readonly kOnHeadersComplete: number
  readonly kOnBody: number
  readonly kOnMessageComplete: number
  readonly kOnExecute: number
}

const STRICT = 0

/** Parses the responses on one connection. */
export interface ResponseParser {
  /** Reads from the handle of a socket, without JavaScript in between. The socket still reports errors and its end. */
  consume(socket: Socket): void
  parse(bytes: Uint8Array): void
  /** Reports the end of the connection: completes a response whose body ends there. Returns an error for any other. */
  finish(): ParserError | null
  close(): void
}

export type HttpParser = (events: ResponseEvents, headBytesMax: number) => ResponseParser

/** Returns null if Node's parser is missing or does not behave as expected. */
export function findHttpParser(load: () => unknown = loadParser): HttpParser | null {
  try {
    const createParser = bind(load() as ParserClass)
    return isAsExpected(createParser) ? createParser : null
  } catch {
    return null
  }
}

function loadParser(): unknown {
  const require = createRequire(import.meta.url)
  return (require('_http_common') as { HTTPParser: unknown }).HTTPParser
}

function bind(Parser: ParserClass): HttpParser {
  const { RESPONSE, kOnMessageBegin, kOnHeaders, kOnHeadersComplete, kOnBody, kOnMessageComplete, kOnExecute } = Parser

  return (events, headBytesMax) => {
    const parser = new Parser()
    parser.initialize(RESPONSE, {}, headBytesMax, STRICT)
    parser[kOnMessageBegin] = () => events.onBegin()
    parser[kOnHeaders] = (headers: string[]) => events.onHeaders(headers)
    parser[kOnHeadersComplete] = (
      major: number,
      minor: number,
      headers: string[] | undefined,
      _method: unknown,
      _url: unknown,
      status: number,
      _text: unknown,
      isUpgrade: boolean,
      mayStayOpen: boolean,
    ) => (events.onHead({ major, minor, status, isUpgrade, mayStayOpen }, headers ?? null) ? 1 : 0)
    parser[kOnBody] = (chunk: Buffer) => events.onBody(chunk)
    parser[kOnMessageComplete] = () => events.onComplete()
    const onExecuted = (result: number | ParserError): void => events.onRead(result instanceof Error ? result : null)
    parser[kOnExecute] = onExecuted

    return {
      consume: (socket) => parser.consume(handleOf(socket)!),
      parse: (bytes) => onExecuted(parser.execute(bytes)),
      finish: () => parser.finish() ?? null,
      close() {
        parser.unconsume()
        // Not within one of its own callbacks.
        setImmediate(() => parser.close())
      },
    }
  }
}

interface Handle {
  readonly isStreamBase?: boolean
  readStart(): number
  readStop(): number
}

function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as { readonly _handle: Handle | null })._handle
}

/** Whether a parser can read from the handle of this socket. */
export function isConsumable(socket: Socket): boolean {
  return handleOf(socket)?.isStreamBase === true && socket.readableLength === 0
}

/** Starts or stops the reads of a socket that a parser has consumed. */
export function setReading(socket: Socket, isReading: boolean): void {
  const handle = handleOf(socket)
  if (handle === null) return
  if (isReading) handle.readStart()
  else handle.readStop()
}

const EXPECTED: readonly (readonly [text: string, events: string])[] = [
  ['HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok', 'begin 200:A=b;Content-Length=2; ok end'],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\nB: c\r\n\r\n',
    'begin 200:Transfer-Encoding=chunked; o +B=c; end',
  ],
  ['HTTP/1.1 103 E\r\n\r\nHTTP/1.1 204 N\r\n\r\nH', 'begin 103: end begin 204: end begin'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\no', 'begin error'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n', 'begin error'],
  ['HTTP/1.1 200 OK\nContent-Length: 1\n\no', 'begin error'],
  ['HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n', 'begin error'],
]

const TRIED_BYTES_MAX = 1_024

/** Parses some responses, whole and byte by byte. */
function isAsExpected(createParser: HttpParser): boolean {
  return EXPECTED.every(([text, events]) => {
    const bytes = Buffer.from(text, 'latin1')
    return [bytes.length, 1].every((step) => eventsOf(createParser, bytes, step) === events)
  })
}

function eventsOf(createParser: HttpParser, bytes: Buffer, step: number): string {
  const seen: string[] = []
  let hasFailed = false
  let body = ''
  const endBody = (): void => {
    if (body !== '') seen.push(body)
    body = ''
  }
  const events: ResponseEvents = {
    onBegin: () => void seen.push('begin'),
    onHeaders(headers) {
      endBody()
      seen.push(`+${pairsOf(headers)}`)
    },
    onHead({ status }, headers) {
      seen.push(`${status}:${pairsOf(headers ?? [])}`)
      return false
    },
    onBody: (chunk) => void (body += chunk.toString('latin1')),
    onComplete() {
      endBody()
      seen.push('end')
    },
    onRead: (error) => void (hasFailed ||= error !== null),
  }
  const parser = createParser(events, TRIED_BYTES_MAX)
  // One buffer for all reads: the parser must have copied what it has passed on.
  const read = Buffer.alloc(step)
  for (let at = 0; at < bytes.length && !hasFailed; at += step) {
    parser.parse(read.subarray(0, bytes.copy(read, 0, at, at + step)))
  }
  parser.close()
  return hasFailed ? `${seen.join(' ')} error` : seen.join(' ')
}

function pairsOf(headers: readonly string[]): string {
  return headers.map((part, index) => (index % 2 === 0 ? part : `=${part};`)).join('')
}
