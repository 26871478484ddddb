/** Serves clients over HTTP/2, on connections that were accepted elsewhere. */

import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, type ClientServerOptions } from '../client.ts'
import { Http2Connection, type Http2Server } from './http2-connection.ts'

export interface Http2SessionsOptions extends Pick<
  ClientServerOptions,
  'connectionsMax' | 'count' | 'onRequest' | 'onFault'
> {
  /** Interval in which time limits are checked; they are multiples of it. */
  readonly scanEveryMs?: number
}

export class Http2Sessions implements Http2Server {
  readonly count: ClientServerOptions['count']
  readonly onRequest: ClientServerOptions['onRequest']
  readonly onFault: ClientServerOptions['onFault']
  isLeaving = false
  /** A thread has no more requests in flight than it would have with one per connection. */
  readonly #streamsMax: number
  readonly #scanEveryMs: number
  readonly #connections = new Set<Http2Connection>()
  #streams = 0
  #scanTimer: NodeJS.Timeout | null = null

  constructor({
    connectionsMax,
    count,
    onRequest,
    onFault,
    scanEveryMs = CLIENT_BOUNDS.scanEveryMs,
  }: Http2SessionsOptions) {
    this.#streamsMax = connectionsMax
    this.count = count
    this.onRequest = onRequest
    this.onFault = onFault
    this.#scanEveryMs = scanEveryMs
  }

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size
  }

  /** Serves a connection whose first bytes are the preface of a client: without TLS, or with `h2` as its protocol (ALPN). */
  accept(socket: Socket): void {
    if (socket.destroyed) return
    try {
      this.#connections.add(new Http2Connection(socket, this))
    } catch (cause) {
      this.onFault(cause)
      socket.destroy()
      return
    }
    this.#scanTimer ??= setInterval(() => this.#scan(), this.#scanEveryMs)
  }

  /** Connections end with their current streams; clients send further requests on other connections. */
  leave(): void {
    this.isLeaving = true
    for (const connection of this.#connections) connection.leave()
  }

  closeIdleConnections(): void {
    for (const connection of this.#connections) if (connection.isIdle) connection.socket.destroy()
  }

  closeAllConnections(): void {
    for (const { socket } of this.#connections) socket.destroy()
  }

  openStream(): boolean {
    if (this.#streams >= this.#streamsMax) return false
    this.#streams++
    return true
  }

  closeStream(): void {
    this.#streams--
  }

  onClosed(connection: Http2Connection): void {
    this.#connections.delete(connection)
    if (this.#connections.size > 0 || this.#scanTimer === null) return
    clearInterval(this.#scanTimer)
    this.#scanTimer = null
  }

  #scan(): void {
    for (const connection of this.#connections) connection.scan()
  }
}
