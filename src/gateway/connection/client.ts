/**
 * A request of a client and the response to it, whatever version of HTTP carries them and whatever reads it: our own connections
 * (`http1/`, `http2/`) or `node:http` (`node/`), whose objects have the same properties.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { TlsPlan } from '../../foundation/tls/tls-plan.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import type { HeaderMemo } from './header-memo.ts'
import type { ResponseFields } from './response-fields.ts'

export type RequestEvent = 'data' | 'end' | 'close'

/** The body arrives as events, from the first `resume` or `data` listener on. */
export interface ClientRequest extends Pick<
  IncomingMessage,
  'method' | 'url' | 'headers' | 'httpVersionMajor' | 'httpVersionMinor' | 'complete' | 'readableFlowing' | 'socket'
> {
  /** Whether HTTP/2 carries the request. A request line may name that version as well, and is refused. */
  readonly isHttp2?: boolean
  /** Name, value, … as received. */
  readonly rawHeaders: readonly string[]
  /** Keeps what is read from the headers; missing if nothing is kept. */
  readonly headerMemo?: HeaderMemo
  /** Set by the `data` listener that only passes chunks on to this writer. While it is null or missing, listeners may keep chunks. */
  writer?: ChunkWriter | null
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  once(event: 'end' | 'close', listener: () => void): unknown
  off(event: RequestEvent, listener: (chunk: Buffer) => void): unknown
  listenerCount(event: RequestEvent): number
  pause(): unknown
  resume(): unknown
}

/** Receives the end of the response: the client has got all of it, or the connection has ended. */
export interface AnsweredCall {
  clientGone(): void
}

/** Takes the place of a response after the switch to another protocol. */
export interface SwitchedResponse {
  /** The call is recorded: the connection may end. */
  onRecorded(): void
  breakOff(): void
}

export type ResponseEvent = 'close' | 'drain' | 'prefinish' | 'socket'

export interface ClientResponse extends Pick<
  ServerResponse,
  'headersSent' | 'destroyed' | 'writableEnded' | 'writableFinished' | 'writableLength' | 'shouldKeepAlive'
> {
  call: AnsweredCall | null
  /** Null while the response is queued behind others of its connection, and after its end. */
  readonly socket: Socket | null
  /** Sets the head, which is sent with the first bytes of the body. */
  start(status: number, fields: ResponseFields): void
  flushHeaders(): void
  /** Returns false if the client reads slower than the response is written. */
  write(chunk: Buffer): boolean
  end(last?: Buffer | string | null): unknown
  /** Ends the response; `last` is sent with the head if that was not sent. */
  endWith(last: Buffer | string | null, isHeadSent: boolean): void
  /** Sends an empty response; nothing that follows on the connection is served. */
  refuse(status: number): void
  /** Sends `100 Continue`, unless the head was sent. */
  askForBody(): void
  /**
   * Switches protocols with the head that follows. Returns the connection; null if it is not free for that. Missing if whatever
   * reads the connection cannot switch.
   */
  switchProtocols?(switched: SwitchedResponse): Socket | null
  /** Aborts the response by closing its connection, after the responses before it; of HTTP/2, its stream. */
  breakOff(): void
  /** Closes the connection, because its client is too slow; of HTTP/2, only the stream. */
  disconnect(): void
  /** The bytes that the client has accepted, if its connection does not report them. */
  deliveredBytes?(bytesPerSecondMin: number): number
  on(event: Exclude<ResponseEvent, 'socket'>, listener: () => void): unknown
  once(event: Exclude<ResponseEvent, 'socket'>, listener: () => void): unknown
  once(event: 'socket', listener: (socket: Socket) => void): unknown
  off(event: 'socket', listener: () => void): unknown
}

export interface ClientServerOptions {
  /** Connections above this number are closed immediately. */
  readonly connectionsMax: number
  /** Null: clients connect without TLS. */
  readonly tls: TlsPlan | null
  /** Networks of proxies that may name the client of a connection. */
  readonly trustedProxies: readonly string[]
  readonly count: CountEvent
  readonly onRequest: (request: ClientRequest, response: ClientResponse) => void
  /** Receives a fault of the gateway; its connection ends. */
  readonly onFault: (cause: unknown) => void
}

/** A server for clients. */
export interface ClientServer extends Server {
  /** From now on, every connection ends with the response to its current request. */
  leave(): void
  /** Presents these certificates to new connections; missing without TLS. */
  secure?(plan: TlsPlan): void
  closeIdleConnections(): void
  closeAllConnections(): void
}

/** Time limits and bounds of connections; whatever reads them applies them. */
export const CLIENT_BOUNDS = {
  headBytesMax: 16 * 1024,
  headWithinMs: 15_000,
  /** Last resort, since the deadlines of `upload-watch.ts` are shorter. */
  requestWithinMs: 660_000,
  idleMs: 65_000,
  scanEveryMs: 5_000,
} as const

/** How long a client may take to read the refusal of what it has sent. */
export const REFUSAL_WITHIN_MS = 5_000

/** Requests that may wait behind another one of their connection: many times more than clients that pipeline have in flight. */
export const QUEUED_MAX = 1_024
