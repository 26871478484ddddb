/** Parses messages as our connections do, and writes down what the parser reports. */

import { createRequire } from 'node:module'
import { bodyBytesOf, countableBytes } from '../../../../../src/gateway/connection/http1/framing-headers.ts'
import { findHttpParser } from '../../../../../src/gateway/connection/http1/http-parser.ts'
import type { MessageParser } from '../../../../../src/gateway/connection/http1/message-parser.ts'

export const HEAD_BYTES_MAX = 16_384

type NodeParser = new () => { execute(bytes: Buffer): unknown }

const { HTTPParser } = createRequire(import.meta.url)('_http_common') as { HTTPParser: NodeParser }

let executions = 0

/** Counts how often Node's parser is asked. */
class CountingParser extends HTTPParser {
  override execute(bytes: Buffer): unknown {
    executions++
    return super.execute(bytes)
  }
}

const parser = findHttpParser(() => CountingParser)!

export class Log {
  readonly events: string[] = []
  readonly bodies: Buffer[] = []
  keepBodies = false
  isOver = false
  #headers: string[] = []
  #target = ''
  #isHeadRead = false
  /** Of the response that is awaited; null if none is. */
  #method: string | null = null
  /** Bytes of the body of a response that are still to come, if they are counted. */
  #left = Infinity
  readonly #parser: MessageParser

  constructor(kind: 'requests' | 'responses') {
    this.#parser = kind === 'requests' ? this.#readRequests() : this.#readResponses()
  }

  /** Reads the parts one after the other, and awaits a response to `method` from now on. Returns how often Node's parser was asked. */
  read(parts: readonly string[], method = 'GET'): number {
    const before = executions
    this.#method = method
    this.#parser.continueAfterUpgrade()
    for (const part of parts) if (!this.isOver && part !== '') this.#parser.parse(Buffer.from(part, 'latin1'))
    return executions - before
  }

  /** The same, with bytes that may change afterwards. */
  readBytes(bytes: Buffer, method: string | null = 'GET'): number {
    const before = executions
    this.#method = method
    this.#parser.parse(bytes)
    return executions - before
  }

  evict(): void {
    this.#parser.heads.evict()
  }

  isBetweenMessages(): boolean {
    return this.#parser.isBetweenMessages()
  }

  close(): void {
    this.#parser.close()
  }

  #readRequests(): MessageParser {
    return parser.readRequests(
      {
        ...this.#common(),
        onHeaders: (headers, target) => {
          if (this.#isHeadRead) return
          this.#headers.push(...headers)
          this.#target += target
        },
        onHead: ({ method, target, major, minor, mayStayOpen }, last) => {
          const headers = this.#takeHeaders(last)
          this.#isHeadRead = true
          const end = mayStayOpen ? 'open' : 'close'
          this.#add(`${method} ${this.#target || target} ${major}.${minor} ${end} ${headers.join('|')}`)
          this.#target = ''
          return bodyBytesOf(this.#parser.heads.find(headers, major * 10 + minor)) === 0 ? 'head' : 'reported'
        },
      },
      HEAD_BYTES_MAX,
    )
  }

  #readResponses(): MessageParser {
    return parser.readResponses(
      {
        ...this.#common(),
        onHeaders: (headers) => {
          if (this.#isHeadRead) this.#add(`trailer ${headers.join('|')}`)
          else this.#headers.push(...headers)
        },
        onHead: ({ status, mayStayOpen, isUpgrade }, last) => {
          const headers = this.#takeHeaders(last)
          const method = this.#method
          this.#add(`${status} ${method ?? 'unasked'} ${mayStayOpen} ${isUpgrade} ${headers.join('|')}`)
          if (method === null) return 'head'
          if (status < 200) return 'reported'
          this.#isHeadRead = true
          this.#method = null
          const counted = countableBytes(this.#parser.heads.find(headers, status), status)
          if (method === 'HEAD') return 'head'
          if (mayStayOpen) this.#left = counted
          return counted === Infinity ? 'reported' : 'counted'
        },
        expectsBody: () => this.#method !== null && this.#method !== 'HEAD',
      },
      HEAD_BYTES_MAX,
    )
  }

  #common() {
    return {
      onBody: (chunk: Buffer) => {
        if (this.keepBodies) this.bodies.push(chunk)
        this.#addBody(chunk.toString('latin1'))
        this.#left -= chunk.length
        if (this.#left === 0) this.#isHeadRead = false
      },
      onComplete: () => {
        this.#isHeadRead = false
        this.#add('end')
      },
      onRead: (error: Error | null, rest: Buffer | null) => {
        if (error !== null) this.#add('error')
        // Its bytes depend on how the reads were split.
        if (rest !== null) this.#add('rest')
        this.isOver ||= error !== null || rest !== null
        // A connection is used again only if the parser is ready.
        if (this.#left > 0) return
        this.isBetweenMessages()
        this.#left = Infinity
      },
    }
  }

  #takeHeaders(last: readonly string[] | null): readonly string[] {
    const headers = last ?? this.#headers
    this.#headers = []
    return headers
  }

  #add(event: string): void {
    this.events.push(event)
  }

  /** Parts of a body are joined. */
  #addBody(text: string): void {
    const last = this.events.at(-1)
    if (last?.startsWith('body ') === true) this.events[this.events.length - 1] = last + text
    else this.#add(`body ${text}`)
  }
}
