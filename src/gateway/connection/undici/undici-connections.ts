/**
 * Connections to a backend over undici, which has a build of llhttp in WebAssembly: the fallback if Node's own parser is missing or
 * does not behave as expected (`backend-connections.ts`).
 */

import { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
import type { IncomingHttpHeaders } from 'undici/types/header.js'
import { loadUndici } from '../../../foundation/outbound/load-undici.ts'
import { parseHeaderLines } from '../../../foundation/runtime/parse-header-lines.ts'
import type { BackendConnections, BodySource, Exchange, ExchangeHandler, ExchangeRequest } from '../exchange.ts'
import { HeaderMemo } from '../header-memo.ts'
import { correctParser } from './correct-parser.ts'
import { registerHeaderNames } from './header-names.ts'

export interface UndiciOptions {
  readonly origin: string
  readonly connections: number
  readonly connect: buildConnector.connector
  readonly keepAliveMs: number
  readonly headBytesMax: number
}

export function openUndiciConnections(options: UndiciOptions): BackendConnections {
  const { origin, connections, connect, keepAliveMs, headBytesMax } = options
  const { Pool } = loadUndici()
  registerHeaderNames()
  function open(connectionsMax: number): Dispatcher {
    const opened = new Pool(origin, {
      connections: connectionsMax,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect,
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: headBytesMax,
    })
    correctParser(opened)
    return opened
  }

  const pool = open(connections)
  return {
    send(request, handler) {
      const exchange = new UndiciExchange(handler)
      const used = request.isRepetition === true ? open(1) : pool
      used.dispatch(toDispatch(request), exchange)
      // Ends with the exchange.
      if (used !== pool) void used.close()
      return exchange
    },
    close: () => void pool.close(),
  }
}

function toDispatch({ method, path, lines, body, bodyBytes }: ExchangeRequest): Dispatcher.DispatchOptions {
  const isFramed = bodyBytes < 0 || body === null || Buffer.isBuffer(body)
  return {
    method: method as Dispatcher.HttpMethod,
    path,
    headers: [...parseHeaderLines(lines), ...(isFramed ? [] : ['content-length', String(bodyBytes)])],
    body: body === null || Buffer.isBuffer(body) ? body : new SourceStream(body),
  }
}

class UndiciExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly #handler: ExchangeHandler
  #controller: Dispatcher.DispatchController | null = null
  #isOver = false
  isPaused = false
  isSent = false

  constructor(handler: ExchangeHandler) {
    this.#handler = handler
  }

  pause(): void {
    this.isPaused = true
    this.#controller?.pause()
  }

  resume(): void {
    this.isPaused = false
    this.#controller?.resume()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    const controller = this.#controller
    if (controller !== null && !controller.aborted) controller.abort(new Error('the exchange is over'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.isSent = true
    if (this.#isOver) controller.abort(new Error('the exchange is over'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200 && !this.#isOver) this.#handler.onHead(this, status, new HeaderMemo(toList(headers)))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isOver) this.#handler.onData(this, chunk)
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.trailers?.takeTrailer(toList(trailers))
    this.#handler.onEnd(this)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onError(this, error)
  }
}

function toList(headers: IncomingHttpHeaders): readonly string[] {
  const list: string[] = []
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') list.push(name, value)
    else if (value !== undefined) for (const item of value) list.push(name, item)
  }
  return list
}

/** A body that arrives in pieces, as the stream that undici reads. */
class SourceStream extends Readable {
  readonly #source: BodySource
  #isStarted = false
  #isFull = false

  constructor(source: BodySource) {
    super({ autoDestroy: true })
    this.#source = source
  }

  override _read(): void {
    if (!this.#isStarted) {
      this.#isStarted = true
      this.#source.start({
        writer: null,
        write: (chunk) => {
          if (this.destroyed) return true
          this.#isFull = !this.push(chunk)
          return !this.#isFull
        },
        end: () => {
          if (this.destroyed) return true
          this.once('end', () => this.#source.drained())
          this.push(null)
          return false
        },
      })
    } else if (this.#isFull) {
      this.#isFull = false
      this.#source.drained()
    }
  }
}
