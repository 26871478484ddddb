/**
 * HTTP/1.1 connections of one thread to one backend.
 *
 * The caller bounds the exchanges that run at once (`backend-slots.ts`), and each has a connection of its own. An exchange that
 * ends while its connection opens leaves the opening to the next one, so that callers who give up do not open ever more
 * connections.
 *
 * Requests of one turn of the event loop are sent together at its end: a backend that sleeps is then woken once, not once per request
 * (measured: 0.9 of the CPU of a full call). Connections that have become idle in the same turn are used, too, and those that have
 * been closed are not.
 *
 * The connection used last is used next; the others become idle and close. Connections to a host name close after a while also
 * under load, since the name may have got other addresses.
 */

import { isIP, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { DeadlineQueue } from '../../../foundation/runtime/deadline-queue.ts'
import { inOnePiece } from '../../../foundation/runtime/one-piece.ts'
import type { BackendConnections, Exchange, ExchangeHandler, ExchangeRequest } from '../exchange.ts'
import type { HttpParser } from './message-parser.ts'
import { Http1Connection, type ConnectionOwner } from './http1-connection.ts'
import { Http1Exchange, type Carrier } from './http1-exchange.ts'
import { writeHead } from './request-head.ts'

export interface Http1PoolOptions {
  readonly origin: string
  readonly parser: Pick<HttpParser, 'readResponses'>
  /** Opens a connection (`backend-connect.ts`). */
  readonly connect: buildConnector.connector
  readonly keepAliveMs: number
  readonly headBytesMax: number
  /** How long a connection to a host name is used. */
  readonly resolveEveryMs: number
}

export class Http1Pool implements BackendConnections, ConnectionOwner {
  readonly #options: Http1PoolOptions
  readonly #target: buildConnector.Options
  /** The lines of every request that concern the connection. */
  readonly #hop: string
  readonly #upgradeHop: string
  readonly #lifetimeMs: number
  /** The one used last is at the end. */
  readonly #idle: Http1Connection[] = []
  readonly #idleTimes: DeadlineQueue
  /** Connections that open for an exchange that is over. */
  readonly #unclaimed: Opening[] = []
  /** Requests of this turn. */
  #waiting: Http1Exchange[] = []
  #isClosed = false

  constructor(options: Http1PoolOptions) {
    const { protocol, host, hostname, port } = new URL(options.origin)
    const name = hostname.replace(/^\[|\]$/g, '')
    this.#options = options
    this.#target = { protocol, host, hostname: name, port }
    this.#hop = inOnePiece(`Host: ${host}\r\nConnection: keep-alive\r\n`)
    this.#upgradeHop = inOnePiece(`Host: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`)
    this.#lifetimeMs = isIP(name) === 0 ? options.resolveEveryMs : Infinity
    this.#idleTimes = new DeadlineQueue(options.keepAliveMs)
  }

  send(request: ExchangeRequest, handler: ExchangeHandler): Exchange {
    if (request.isUpgrade === true) return this.#sendUpgrade(request, handler)
    if (request.isRepetition === true) return this.#sendAgain(request, handler)
    const exchange = new Http1Exchange(request, handler, writeHead(request, this.#hop))
    if (this.#waiting.push(exchange) === 1) setImmediate(this.#sendWaiting)
    return exchange
  }

  #sendUpgrade(request: ExchangeRequest, handler: ExchangeHandler): Exchange {
    const exchange = new Http1Exchange(request, handler, writeHead(request, this.#upgradeHop))
    this.#open(exchange)
    return exchange
  }

  /** The new connection takes the place of the one that was idle for the longest time. */
  #sendAgain(request: ExchangeRequest, handler: ExchangeHandler): Exchange {
    const exchange = new Http1Exchange(request, handler, writeHead(request, this.#hop))
    const oldest = this.#idle.shift()
    if (oldest !== undefined) this.#retire(oldest)
    this.#open(exchange)
    return exchange
  }

  close(): void {
    this.#isClosed = true
    for (const connection of this.#idle.splice(0)) this.#retire(connection)
  }

  onIdle(connection: Http1Connection): void {
    const nowAt = performance.now()
    if (this.#isClosed || connection.idleMs <= 0 || nowAt - connection.createdAt > this.#lifetimeMs) {
      return connection.close()
    }
    connection.idleSince = nowAt
    this.#idle.push(connection)
    this.#idleTimes.enter(connection, nowAt)
  }

  onClosed(connection: Http1Connection): void {
    this.#idleTimes.leave(connection)
    const index = this.#idle.lastIndexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
  }

  readonly #sendWaiting = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    const nowAt = performance.now()
    for (const exchange of waiting) {
      if (exchange.isAborted) continue
      try {
        this.#dispatch(exchange, nowAt)
      } catch (cause) {
        exchange.handler.onError(exchange, cause as Error)
      }
    }
  }

  #dispatch(exchange: Http1Exchange, nowAt: number): void {
    const connection = this.#takeIdle(nowAt)
    if (connection !== null) return connection.carry(exchange)
    const unclaimed = this.#unclaimed.pop()
    if (unclaimed === undefined) this.#open(exchange)
    else unclaimed.claim(exchange)
  }

  #takeIdle(nowAt: number): Http1Connection | null {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined) return null
      this.#idleTimes.leave(connection)
      if (connection.isOpen && nowAt - connection.idleSince < connection.idleMs) return connection
      connection.close()
    }
  }

  #retire(connection: Http1Connection): void {
    this.#idleTimes.leave(connection)
    connection.close()
  }

  #open(exchange: Http1Exchange): void {
    const opening = new Opening(exchange, (unclaimed) => this.#unclaimed.push(unclaimed))
    this.#options.connect(this.#target, (...result) => {
      // After an error there is no socket.
      const [error, socket] = result as [Error | null, Socket | null | undefined]
      const claimed = opening.end()
      if (claimed === null) this.#evict(opening)
      if (error !== null || !socket) {
        if (claimed === null) return
        // Most of the time limit may have passed before the exchange came.
        if (opening.isClaimedLater) return this.#open(claimed)
        return claimed.handler.onError(claimed, error ?? new Error('no connection'))
      }
      const { parser, headBytesMax } = this.#options
      const connection = new Http1Connection(socket, (events) => parser.readResponses(events, headBytesMax), this)
      if (claimed !== null) connection.carry(claimed)
      else this.onIdle(connection)
    })
  }

  #evict(opening: Opening): void {
    const index = this.#unclaimed.indexOf(opening)
    if (index >= 0) this.#unclaimed.splice(index, 1)
  }
}

/** A connection that opens, for an exchange that waits for it. */
class Opening implements Carrier {
  /** Whether the connection was opened for an exchange before this one. */
  isClaimedLater = false
  readonly writableLength = 0
  #exchange: Http1Exchange | null = null
  readonly #onUnclaimed: (opening: Opening) => void

  constructor(exchange: Http1Exchange, onUnclaimed: (opening: Opening) => void) {
    this.#onUnclaimed = onUnclaimed
    this.claim(exchange)
  }

  claim(exchange: Http1Exchange): void {
    this.#exchange = exchange
    exchange.carriedBy(this)
  }

  /** Returns the exchange that waits. */
  end(): Http1Exchange | null {
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.carriedBy(null)
    return exchange
  }

  drop(): void {
    this.#exchange = null
    this.isClaimedLater = true
    this.#onUnclaimed(this)
  }

  setReading(): void {}

  writeBody(): boolean {
    return true
  }

  endBody(): boolean {
    return true
  }
}
