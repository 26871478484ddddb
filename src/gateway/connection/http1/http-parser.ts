/**
 * The HTTP/1.1 parser of Node (llhttp), in strict mode, as `node:http` uses it.
 *
 * It is not part of Node's documented interface. `findHttpParser` therefore tests its behaviour first (`expected-events.ts`); if it
 * is missing or differs, another implementation serves (`parser-choice.ts`). Our dependencies pin the version of Node.
 */

import { createRequire } from 'node:module'
import { METHODS } from '../../../runtime/node-http.ts'
import type { ParserError } from '../parser-errors.ts'
import { isAsExpected } from './expected-events.ts'
import type { HttpParser, MessageEnd, MessageEvents, MessageParser } from './message-parser.ts'
import { BodyParts } from './body-parts.ts'
import { handleOf, type Handle } from './socket-handle.ts'

interface RawParser {
  initialize(type: number, resource: object, headBytesMax: number, lenientFlags: number): void
  execute(bytes: Uint8Array): number | ParserError
  finish(): ParserError | undefined
  /** The bytes of the read that is being reported, if the parser has consumed a socket. */
  getCurrentBuffer(): Buffer | undefined
  consume(handle: object): void
  unconsume(): void
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
  readonly kOnExecute: number
}

const STRICT = 0
/** Tells the parser that the response has no body. */
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
      const parser = new Parser()
      const upgrade: Upgrade = { isAsked: false }
      const body = new BodyParts(events)
      const completion = new Completion(Parser, parser, events, body)
      const begin = (): void => parser.initialize(RESPONSE, {}, headBytesMax, STRICT)
      begin()
      parser[kOnHeaders] = (headers: string[]) => body.before(() => events.onHeaders(headers))
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
        if (isUpgrade) upgrade.isAsked = true
        const end = events.onHead({ major, minor, status, isUpgrade, mayStayOpen }, headers ?? null)
        completion.expect(end)
        return end === 'head' ? SKIP_BODY : 0
      }
      return bindEvents(Parser, parser, events, begin, upgrade, body)
    },
    readRequests(events, headBytesMax) {
      const parser = new Parser()
      const upgrade: Upgrade = { isAsked: false }
      const body = new BodyParts(events)
      const completion = new Completion(Parser, parser, events, body)
      const begin = (): void => parser.initialize(REQUEST, {}, headBytesMax, STRICT)
      begin()
      parser[kOnHeaders] = (headers: string[], target: string) => body.before(() => events.onHeaders(headers, target))
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
        if (isUpgrade) upgrade.isAsked = true
        const line = { major, minor, method: methods[method] ?? '', target: target ?? '', mayStayOpen }
        completion.expect(events.onHead(line, headers ?? null))
        return 0
      }
      return bindEvents(Parser, parser, events, begin, upgrade, body)
    },
  }
}

/** Has the parser report the end of a message only if somebody needs that. */
class Completion {
  readonly #parser: RawParser
  readonly #key: number
  readonly #events: MessageEvents
  readonly #report: () => void
  #isReported = true

  constructor({ kOnMessageComplete }: ParserClass, parser: RawParser, events: MessageEvents, body: BodyParts) {
    this.#parser = parser
    this.#key = kOnMessageComplete
    this.#events = events
    this.#report = () => {
      body.flush()
      events.onComplete()
    }
    parser[kOnMessageComplete] = this.#report
  }

  /** The head of a message was read. */
  expect(end: MessageEnd): void {
    const isReported = end === 'reported'
    if (isReported !== this.#isReported) {
      this.#isReported = isReported
      this.#parser[this.#key] = isReported ? this.#report : null
    }
    if (end === 'head') this.#events.onComplete()
  }
}

/** Whether a message on the connection was about an upgrade. The parser stops after each one that is. */
interface Upgrade {
  isAsked: boolean
}

function bindEvents(
  Parser: ParserClass,
  parser: RawParser,
  events: MessageEvents,
  begin: () => void,
  upgrade: Upgrade,
  body: BodyParts,
): MessageParser {
  let handle: Handle | null = null
  const { kOnMessageBegin, kOnBody, kOnExecute } = Parser
  const onExecuted = (result: number | ParserError, bytes: Buffer | null): void => {
    body.flush()
    if (typeof result !== 'number') return events.onRead(result, null)
    if (!upgrade.isAsked) return events.onRead(null, null)
    const rest = (bytes ?? parser.getCurrentBuffer())!.subarray(result)
    events.onRead(null, rest.length === 0 ? null : rest)
  }
  // Without it, the parser would look for it in its prototypes for every message.
  parser[kOnMessageBegin] = null
  parser[kOnBody] = (chunk: Buffer) => body.add(chunk)
  parser[kOnExecute] = (result: number | ParserError) => onExecuted(result, null)

  return {
    // Not an accessor: with one for each connection, objects of this kind would share no hidden class.
    parts: body,
    consume(socket) {
      handle = handleOf(socket)!
      parser.consume(handle)
    },
    parse: (bytes) => onExecuted(parser.execute(bytes), bytes),
    pause() {
      // The parser would ignore what follows.
      if (handle === null || upgrade.isAsked) return false
      parser.unconsume()
      return true
    },
    proceed: () => parser.consume(handle!),
    release() {
      handle = null
      parser.unconsume()
    },
    restart() {
      begin()
      parser.consume(handle!)
    },
    finish: () => parser.finish() ?? null,
    isBetweenMessages: () => parser.finish() === undefined,
    close() {
      parser.unconsume()
      // Not within one of its own callbacks.
      setImmediate(() => parser.close())
    },
  }
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
