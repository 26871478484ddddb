/**
 * One request to a backend and its response, whatever version of HTTP carries it.
 *
 * The code above this interface sees parsed parts only. Hop-by-hop matters (framing, interim responses, trailers, the reuse of
 * connections) end below it.
 */

import type { Socket } from 'node:net'
import type { ChunkWriter } from './chunk-writer.ts'
import type { HeaderMemo } from './header-memo.ts'

/** A body that arrives in pieces. */
export interface BodySource {
  /** Called once, when the head of the request was written. */
  start(sink: BodySink): void
  /** The sink accepts bytes again after `write` has returned false. */
  drained(): void
}

export interface BodySink {
  /** Who writes the chunks; null if the sink keeps them. */
  readonly writer: ChunkWriter | null
  /** Returns false if the source must wait until `drained`. */
  write(chunk: Buffer): boolean
  /** The body is complete. Returns false if some of it still waits to be read by the backend. */
  end(): boolean
}

export interface ExchangeRequest {
  readonly method: string
  readonly path: string
  /** Headers as `toHeaderLines` has written them; without `Host`, `Connection` and those that frame the body. */
  readonly lines: string
  readonly body: Buffer | BodySource | null
  /** Length of a body that arrives in pieces; -1 if it is unknown. */
  readonly bodyBytes: number
  /** Whether the backend is asked to switch to a WebSocket, on a connection of its own. */
  readonly isUpgrade?: boolean
  /** Whether the request is sent again, on a new connection: others that were kept open may have been closed as well. */
  readonly isRepetition?: boolean
}

/** A connection whose protocol was switched. */
export interface SwitchedConnection {
  readonly socket: Socket
  /** The first bytes of the new protocol, if they came with the response. */
  readonly rest: Buffer | null
}

/** Receives a response. No method is called before `send` has returned, and none may throw. */
export interface ExchangeHandler {
  onHead(exchange: Exchange, status: number, headers: HeaderMemo): void
  /** Returns who writes the chunk; null if it is kept. */
  onData(exchange: Exchange, chunk: Buffer): ChunkWriter | null
  onEnd(exchange: Exchange): void
  /** The last call, unless `onEnd` was. */
  onError(exchange: Exchange, error: NodeJS.ErrnoException): void
  /** The last call if the backend has switched protocols. The connection belongs to the handler. */
  onSwitch?(headers: HeaderMemo, connection: SwitchedConnection): void
  /** Receives trailers before `onEnd`; without it they are dropped. */
  readonly trailers?: TrailerReader | null
}

export interface TrailerReader {
  /** The next fields of the trailer: name, value, …. */
  takeTrailer(fields: readonly string[]): void
}

export interface Exchange {
  /** False while it is certain that the backend has received nothing of the request: it waits to be sent, or for a connection. */
  readonly isSent: boolean
  /** True between `pause` and `resume`. Data that was read before may still arrive. */
  readonly isPaused: boolean
  pause(): void
  resume(): void
  /** Ends the exchange without another call of the handler. */
  abort(): void
}

/** The connections of one thread to one backend. */
export interface BackendConnections {
  /** Throws if the request cannot be written. */
  send(request: ExchangeRequest, handler: ExchangeHandler): Exchange
  /** Closes the connections; those in use, at the end of their exchange. */
  close(): void
}

/** `code` of the error if the backend closed the connection before it sent a byte of the response. */
export const CLOSED_BEFORE_RESPONSE = 'TOLLGATE_CLOSED_BEFORE_RESPONSE'
/** `code` of the error if the framing of a response is ambiguous, or the response ends early. */
export const RESPONSE_INVALID = 'TOLLGATE_RESPONSE_INVALID'
/** `code` of the error if the gateway built a request that must not be sent. */
export const REQUEST_INVALID = 'TOLLGATE_REQUEST_INVALID'

export function exchangeError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code })
}
