/**
 * The HTTP/1.1 parser of Node (llhttp), in strict mode, as `node:http` uses it.
 *
 * It is not part of Node's documented interface. `findHttpParser` therefore tests its behaviour first (`expected-events.ts`); if it
 * is missing or differs, another implementation serves (`parser-choice.ts`). Our dependencies pin the version of Node.
 */

import { createRequire } from 'node:module'
import { METHODS } from '../../../foundation/runtime/node-http.ts'
import type { ParserError } from '../parser-errors.ts'
import { isAsExpected } from './expected-events.ts'
import type { HttpParser, MessageEnd, MessageEvents, MessageParser } from './message-parser.ts'
import { BodyParts } from './body-parts.ts'
import { KnownRequests, KnownResponses } from './known-heads.ts'

interface RawParser {
  initialize(type: number, resource: object, headBytesMax: number, lenientFlags: number): void
  execute(bytes: Uint8Array): number | ParserError
  finish(): ParserError | undefined
  close(): void
  [callback: number]: ((...parts: never[]) => unknown) | null
}

interface ParserClass {
  new (): RawParser
  readonly REQUEST: number
  readonly RESPONSE: number
  readonly kOnMessageBegin: number
  readonly kOnHeaders: number
  readonly kOnHeadersComplete: number
  readonly kOnBody: number
  readonly kOnMessageComplete: number
}

const STRICT = 0
/** Declares to the parser that the response has no body. */
const SKIP_BODY = 1

/** Returns null if Node's parser is missing or does not behave as expected. */
export function findHttpParser(load: () => unknown = loadParser): HttpParser | null {
  try {
    const parser = bind(load() as ParserClass)
    return isAsExpected(parser) ? parser : null
  } catch {
    return null
  }
}

function loadParser(): unknown {
  const require = createRequire(import.meta.url)
  return (require('_http_common') as { HTTPParser: unknown }).HTTPParser
}

function bind(Parser: ParserClass): HttpParser {
  const { REQUEST, RESPONSE, kOnHeaders, kOnHeadersComplete } = Parser
  const methods = methodsOf(Parser)

  return {
    readResponses(events, headBytesMax) {
      const heads = new KnownResponses(events, headBytesMax)
      const { parser, completion, beforeHeaders, messages } = open(Parser, RESPONSE, events, heads, headBytesMax)
      parser[kOnHeaders] = (headers: string[]) => beforeHeaders(() => events.onHeaders(headers))
      parser[kOnHeadersComplete] = (
        major: number,
        minor: number,
        headers: string[] | undefined,
        _method: unknown,
        _target: unknown,
        status: number,
        _text: unknown,
        isUpgrade: boolean,
        mayStayOpen: boolean,
      ) => {
        const line = { major, minor, status, isUpgrade, mayStayOpen }
        const end = events.onHead(line, headers ?? null)
        if (!mayStayOpen) heads.stop()
        heads.add(line, end === 'counted' && !isUpgrade)
        completion.expect(end, isUpgrade)
        return end === 'head' ? SKIP_BODY : 0
      }
      return messages
    },
    readRequests(events, headBytesMax) {
      const heads = new KnownRequests(events, headBytesMax)
      const { parser, completion, beforeHeaders, messages } = open(Parser, REQUEST, events, heads, headBytesMax)
      parser[kOnHeaders] = (headers: string[], target: string) => beforeHeaders(() => events.onHeaders(headers, target))
      parser[kOnHeadersComplete] = (
        major: number,
        minor: number,
        headers: string[] | undefined,
        method: number,
        target: string | undefined,
        _status: unknown,
        _text: unknown,
        isUpgrade: boolean,
        mayStayOpen: boolean,
      ) => {
        const line = { major, minor, method: methods[method] ?? '', target: target ?? '', mayStayOpen }
        const end = events.onHead(line, headers ?? null)
        if (!mayStayOpen) heads.stop()
        heads.add(line, end === 'head' && !isUpgrade && major === 1 && minor === 1)
        completion.expect(end, isUpgrade)
        return 0
      }
      return messages
    },
  }
}

/** Has the parser report the end of a message only if it is needed. */
class Completion {
  readonly #parser: RawParser
  readonly #key: number
  readonly #events: MessageEvents
  readonly #report: () => void
  #isReported = true
  #isUpgrade = false
  /** The head was read, and the parser will report the end. Trailers come within such bodies only. */
  isWithinBody = false
  /** A message about an upgrade has ended. The parser reads nothing more, and what it returns for other reads has no meaning. */
  isStopped = false

  constructor({ kOnMessageComplete }: ParserClass, parser: RawParser, events: MessageEvents, body: BodyParts) {
    this.#parser = parser
    this.#key = kOnMessageComplete
    this.#events = events
    this.#report = () => {
      body.flush()
      this.#complete()
    }
    parser[kOnMessageComplete] = this.#report
  }

  /** The head of a message was read. */
  expect(end: MessageEnd, isUpgrade: boolean): void {
    this.#isUpgrade = isUpgrade
    const isReported = (this.isWithinBody = end === 'reported')
    if (isReported !== this.#isReported) {
      this.#isReported = isReported
      this.#parser[this.#key] = isReported ? this.#report : null
    }
    if (end === 'head') this.#complete()
  }

  #complete(): void {
    this.isWithinBody = false
    if (this.#isUpgrade) this.isStopped = true
    this.#events.onComplete()
  }

  /** Reports the end of a read. `result` is what the parser has returned. */
  endRead(result: number | ParserError, bytes: Buffer): void {
    if (typeof result !== 'number') return this.#events.onRead(result, null)
    const isRest = this.isStopped && result < bytes.length
    this.#events.onRead(null, isRest ? Buffer.from(bytes.subarray(result)) : null)
  }

  /** The parser begins again. */
  reset(): void {
    this.#isUpgrade = this.isStopped = this.isWithinBody = false
  }
}

/** Whether a parser is between two messages. To ask it costs a call. */
class Place {
  readonly #parser: RawParser
  /** Null: only the parser knows. */
  #isBetween: boolean | null = true
  isWithinRead = false

  constructor(parser: RawParser) {
    this.#parser = parser
  }

  get isKnownBetween(): boolean {
    return this.#isBetween === true
  }

  isBetweenMessages(): boolean {
    if (this.#isBetween !== null) return this.#isBetween
    const isBetween = this.#parser.finish() === undefined
    if (!this.isWithinRead) this.#isBetween = isBetween
    return isBetween
  }

  enter(): void {
    this.#isBetween = null
    this.isWithinRead = true
  }

  leave(): void {
    this.isWithinRead = false
  }

  reset(): void {
    this.#isBetween = true
  }
}

/** Opens a parser, whose owner sets what receives heads. */
function open(
  Parser: ParserClass,
  type: number,
  events: MessageEvents,
  heads: KnownRequests | KnownResponses,
  headBytesMax: number,
) {
  const parser = new Parser()
  const body = new BodyParts(events)
  const completion = new Completion(Parser, parser, events, body)
  const place = new Place(parser)
  const begin = (): void => parser.initialize(type, {}, headBytesMax, STRICT)
  begin()
  const { kOnMessageBegin, kOnBody } = Parser
  // Without it, the parser would look for it in its prototypes for every message.
  parser[kOnMessageBegin] = null
  parser[kOnBody] = (chunk: Buffer) => body.add(chunk)
  const restart = (): void => {
    begin()
    completion.reset()
    place.reset()
  }

  const messages: MessageParser = {
    // Not accessors: with one for each connection, objects of this kind would share no hidden class.
    parts: body,
    heads,
    parse(bytes) {
      if (completion.isStopped) return events.onRead(null, Buffer.from(bytes))
      const isBetween = heads.haveKnownEnds ? place.isBetweenMessages() : place.isKnownBetween
      if (isBetween && heads.read(bytes)) return
      heads.begin()
      place.enter()
      const result = parser.execute(bytes)
      body.flush()
      place.leave()
      if (typeof result !== 'number') heads.stop()
      else if (isBetween) heads.learn(bytes)
      completion.endRead(result, bytes)
    },
    restart,
    continueAfterUpgrade() {
      if (completion.isStopped && !place.isWithinRead) restart()
    },
    finish: () => parser.finish() ?? null,
    isBetweenMessages: () => place.isBetweenMessages(),
    // Not within one of its own callbacks.
    close: () => void setImmediate(() => parser.close()),
  }
  const beforeHeaders = (step: () => void): void => {
    // The parser heeds trailers: after `Connection: close` it accepts no other message.
    if (completion.isWithinBody) heads.stop()
    body.before(step)
  }
  return { parser, completion, beforeHeaders, messages }
}

/** Returns the methods by their numbers in the parser. */
function methodsOf(Parser: ParserClass): readonly string[] {
  const methods: string[] = []
  for (const name of METHODS) {
    const parser = new Parser()
    parser.initialize(Parser.REQUEST, {}, 1_024, STRICT)
    parser[Parser.kOnHeadersComplete] = (_major: number, _minor: number, _headers: unknown, method: number) => {
      methods[method] = name
      return 0
    }
    parser.execute(Buffer.from(`${name} / HTTP/1.1\r\n\r\n`))
    parser.close()
  }
  return methods
}
