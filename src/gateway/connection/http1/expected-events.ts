/** How Node's HTTP parser must behave: it parses some messages, whole and byte by byte. */

import type { ParserError } from '../parser-errors.ts'
import type { HttpParser, MessageEnd, MessageParser } from './message-parser.ts'

/** `|` stands for a message that has begun. */
type Expected = readonly (readonly [text: string, events: string])[]

const RESPONSES: Expected = [
  ['HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok', '200:A=b;Content-Length=2; ok end'],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\nB: c\r\n\r\n',
    '200:Transfer-Encoding=chunked; o +B=c; end',
  ],
  ['HTTP/1.1 103 E\r\n\r\nHTTP/1.1 204 N\r\n\r\nH', '103: end 204: end |'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\no', 'error'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n', 'error'],
  ['HTTP/1.1 200 OK\nContent-Length: 1\n\no', 'error'],
  ['HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n', 'error'],
]

const REQUESTS: Expected = [
  [
    'POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nokGET /c HTTP/1.1\r\n\r\nG',
    'POST /a?b 1.1 open:Host=a;Content-Length=2; ok end GET /c 1.1 open: end |',
  ],
  [
    'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\nB: c\r\n\r\n',
    'PUT / 1.1 open:Transfer-Encoding=chunked; o +B=c; end',
  ],
  ['GET / HTTP/1.0\r\n\r\n', 'GET / 1.0 close: end'],
  ['GET / HTTP/1.1\r\nConnection: close\r\n\r\nG', 'GET / 1.1 close:Connection=close; end error'],
  ['GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\no', 'error'],
  ['GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n', 'error'],
  ['GET / HTTP/1.1\nA: b\n\n', 'error'],
  ['GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n', 'error'],
  ['GET / HTTP/1.1\r\nA : b\r\n\r\n', 'error'],
  ['GET / HTTP/1.1\r\nA: \0\r\n\r\n', 'error'],
]

/** Messages whose end the parser does not report. */
const OTHER_ENDS: readonly (readonly [end: MessageEnd, responses: Expected[number], requests: Expected[number]])[] = [
  [
    'counted',
    [
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no',
      '200:Content-Length=2; ok 200:Content-Length=2; o |',
    ],
    [
      'PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\nokGET / HTTP/1.1\r\n\r\n',
      'PUT / 1.1 open:Content-Length=2; ok GET / 1.1 open:',
    ],
  ],
  [
    'head',
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 204 N\r\n\r\n', '200:Content-Length=2; end 204: end'],
    ['GET / HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\nG', 'GET / 1.1 open: end GET /b 1.1 open: end |'],
  ],
]

/** The request behind it in the same read is not parsed. */
const UPGRADE = '\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\nGET / HTTP/1.1\r\n\r\n'
const UPGRADE_EVENTS = 'Connection=upgrade;Upgrade=a; end rest:GET / HTTP/1.1\r\n\r\n'

const HEAD_BYTES_MAX = 1_024

export function isAsExpected(parser: HttpParser): boolean {
  return (
    RESPONSES.every(([text, events]) => areEvents(text, events, (seen) => readResponses(parser, seen))) &&
    REQUESTS.every(([text, events]) => areEvents(text, events, (seen) => readRequests(parser, seen))) &&
    OTHER_ENDS.every(
      ([end, [responses, responseEvents], [requests, requestEvents]]) =>
        areEvents(responses, responseEvents, (seen) => readResponses(parser, seen, end)) &&
        areEvents(requests, requestEvents, (seen) => readRequests(parser, seen, end)),
    ) &&
    isRestIgnored(`HTTP/1.1 101 S${UPGRADE}`, `101:${UPGRADE_EVENTS}`, (seen) => readResponses(parser, seen)) &&
    isRestIgnored(`GET / HTTP/1.1${UPGRADE}`, `GET / 1.1 open:${UPGRADE_EVENTS}`, (seen) => readRequests(parser, seen))
  )
}

/** Collects events as words; the parts of a body are joined. */
class Seen {
  hasFailed = false
  readonly #words: string[] = []
  #body = ''

  add(word: string): void {
    if (this.#body !== '') this.#words.push(this.#body)
    this.#body = ''
    this.#words.push(word)
  }

  readonly onBody = (chunk: Buffer): void => void (this.#body += chunk.toString('latin1'))
  readonly onComplete = (): void => this.add('end')
  readonly onRead = (error: ParserError | null, rest: Buffer | null): void => {
    if (rest !== null) this.add(`rest:${rest.toString('latin1')}`)
    if (error !== null && !this.hasFailed) this.add('error')
    this.hasFailed ||= error !== null
  }

  toString(): string {
    return this.#words.join(' ')
  }
}

function readResponses({ readResponses: read }: HttpParser, seen: Seen, end: MessageEnd = 'reported'): MessageParser {
  const { onBody, onComplete, onRead } = seen
  return read(
    {
      onHeaders: (headers) => seen.add(`+${pairsOf(headers)}`),
      onHead({ status }, headers) {
        seen.add(`${status}:${pairsOf(headers ?? [])}`)
        return end
      },
      expectsBody: () => true,
      onBody,
      onComplete,
      onRead,
    },
    HEAD_BYTES_MAX,
  )
}

function readRequests({ readRequests: read }: HttpParser, seen: Seen, end: MessageEnd = 'reported'): MessageParser {
  const { onBody, onComplete, onRead } = seen
  return read(
    {
      onHeaders: (headers) => seen.add(`+${pairsOf(headers)}`),
      onHead({ method, target, major, minor, mayStayOpen }, headers) {
        const reuse = mayStayOpen ? 'open' : 'close'
        seen.add(`${method} ${target} ${major}.${minor} ${reuse}:${pairsOf(headers ?? [])}`)
        return end
      },
      onBody,
      onComplete,
      onRead,
    },
    HEAD_BYTES_MAX,
  )
}

function areEvents(text: string, events: string, read: (seen: Seen) => MessageParser): boolean {
  const bytes = Buffer.from(text, 'latin1')
  return [bytes.length, 1].every((step) => eventsOf(bytes, step, read) === events)
}

function isRestIgnored(text: string, events: string, read: (seen: Seen) => MessageParser): boolean {
  const bytes = Buffer.from(text, 'latin1')
  return eventsOf(bytes, bytes.length, read) === events
}

function eventsOf(bytes: Buffer, step: number, read: (seen: Seen) => MessageParser): string {
  const seen = new Seen()
  const parser = read(seen)
  // One buffer for all reads: the parser must have copied what it has passed on.
  const part = Buffer.alloc(step)
  let isBetween = true
  for (let at = 0; at < bytes.length && !seen.hasFailed; at += step) {
    parser.parse(part.subarray(0, bytes.copy(part, 0, at, at + step)))
    if (!seen.hasFailed) isBetween = parser.isBetweenMessages()
  }
  if (!isBetween && !seen.hasFailed) seen.add('|')
  parser.close()
  return seen.toString()
}

function pairsOf(headers: readonly string[]): string {
  return headers.map((part, index) => (index % 2 === 0 ? part : `=${part};`)).join('')
}
