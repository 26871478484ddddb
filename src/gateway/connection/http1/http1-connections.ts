/** The HTTP/1.1 connections of clients to one server. */

import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, type ClientServerOptions } from '../client.ts'
import { ClientConnection } from './client-connection.ts'
import type { ConnectionServer } from './connection-server.ts'
import type { HttpParser } from './message-parser.ts'

export interface Http1Options extends Pick<ClientServerOptions, 'count' | 'onRequest' | 'onFault'> {
  readonly parser: Pick<HttpParser, 'readRequests'>
  /** Interval in which time limits are checked; they are multiples of it. */
  readonly scanEveryMs?: number
}

export class Http1Connections implements ConnectionServer<ClientConnection> {
  readonly parser: Pick<HttpParser, 'readRequests'>
  readonly count: ClientServerOptions['count']
  readonly onRequest: ClientServerOptions['onRequest']
  readonly onFault: ClientServerOptions['onFault']
  isLeaving = false
  readonly #scanEveryMs: number
  readonly #connections = new Set<ClientConnection>()
  #scanTimer: NodeJS.Timeout | null = null

  constructor({ parser, count, onRequest, onFault, scanEveryMs = CLIENT_BOUNDS.scanEveryMs }: Http1Options) {
    this.parser = parser
    this.count = count
    this.onRequest = onRequest
    this.onFault = onFault
    this.#scanEveryMs = scanEveryMs
  }

  /** Begins to check the time limits of connections. */
  start(): void {
    this.#scanTimer = setInterval(() => this.#scan(), this.#scanEveryMs)
  }

  stop(): void {
    if (this.#scanTimer !== null) clearInterval(this.#scanTimer)
  }

  accept(socket: Socket): void {
    this.#connections.add(new ClientConnection(socket, this))
  }

  closeIdle(): void {
    for (const connection of this.#connections) if (connection.isIdle) connection.socket.destroy()
  }

  closeAll(): void {
    for (const { socket } of this.#connections) socket.destroy()
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection)
  }

  #scan(): void {
    for (const connection of this.#connections) connection.scan()
  }
}
