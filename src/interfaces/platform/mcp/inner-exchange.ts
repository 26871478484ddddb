/**
 * A request to a route of the service itself and its response, without a connection.
 *
 * `app.inject` does the same with the request and the response of a simulated connection, which takes more CPU than most operations:
 * it writes the response as HTTP and reads it again. These have only the members that fastify uses.
 */

import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable, Writable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

export interface InnerRequest {
  readonly method: string
  readonly target: string
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

export interface InnerAnswer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, OutgoingHttpHeader | undefined>>
  readonly body: string | Buffer
}

/** `gone`: reports to the operation that the response is not awaited any more, as the end of a connection would. It still responds. */
export function exchange(
  app: Pick<FastifyInstance, 'routing'>,
  request: InnerRequest,
  gone?: AbortSignal,
): Promise<InnerAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<InnerAnswer>()
  const response = new Response(resolve)
  const leave = (): void => void response.emit('close')
  gone?.addEventListener('abort', leave, { once: true })
  response.on('close', () => {
    gone?.removeEventListener('abort', leave)
    if (response.destroyed) reject(new Error('an operation ended without a response'))
  })
  response.on('error', reject)
  app.routing(new Request(request) as unknown as IncomingMessage, response as unknown as ServerResponse)
  return promise
}

const HOST = 'localhost'
/** There is no connection: nothing of it is known, and nothing of it can be closed. */
const NO_SOCKET = Object.freeze({ remoteAddress: undefined, encrypted: false, destroyed: false }) as unknown as Socket

class Request extends Readable {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: readonly string[]
  readonly httpVersion = '1.1'
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly socket = NO_SOCKET
  readonly #body: Buffer | null

  constructor({ method, target, headers, body }: InnerRequest) {
    super({ autoDestroy: false })
    this.method = method
    this.url = target
    this.#body = body
    this.headers = { ...headers, host: HOST, ...(body !== null && { 'content-length': String(body.length) }) }
    this.rawHeaders = Object.entries(this.headers).flat()
  }

  override _read(): void {
    if (this.#body !== null) this.push(this.#body)
    this.push(null)
  }
}

class Response extends Writable {
  statusCode = 200
  headersSent = false
  readonly req = null
  readonly socket = NO_SOCKET
  readonly #headers = new Map<string, OutgoingHttpHeader>()
  readonly #chunks: (string | Buffer)[] = []
  readonly #onAnswer: (answer: InnerAnswer) => void

  constructor(onAnswer: (answer: InnerAnswer) => void) {
    super({ decodeStrings: false })
    this.#onAnswer = onAnswer
  }

  setHeader(name: string, value: OutgoingHttpHeader): this {
    this.#headers.set(name.toLowerCase(), value)
    return this
  }

  getHeader(name: string): OutgoingHttpHeader | undefined {
    return this.#headers.get(name.toLowerCase())
  }

  getHeaders(): OutgoingHttpHeaders {
    return Object.fromEntries(this.#headers)
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()]
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase())
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase())
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value)
    this.headersSent = true
    return this
  }

  flushHeaders(): void {
    this.headersSent = true
  }

  override _write(chunk: string | Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  override _final(done: () => void): void {
    this.headersSent = true
    this.#onAnswer({ status: this.statusCode, headers: Object.fromEntries(this.#headers), body: this.#body() })
    done()
  }

  #body(): string | Buffer {
    const [first = '', ...more] = this.#chunks
    if (more.length === 0) return first
    return Buffer.concat(this.#chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)))
  }
}
