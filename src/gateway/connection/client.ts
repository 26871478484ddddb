/**
 * A request of a client and the response to it, whatever version of HTTP carries them and whatever reads it: our own connections
 * (`http1/`) or `node:http`, whose objects have the same properties.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'

export type RequestEvent = 'data' | 'end' | 'close'

/** The body arrives as events, from the first `resume` or `data` listener on. */
export interface ClientRequest extends Pick<
  IncomingMessage,
  | 'method'
  | 'url'
  | 'headers'
  | 'headersDistinct'
  | 'httpVersionMajor'
  | 'httpVersionMinor'
  | 'complete'
  | 'readableEnded'
  | 'readableFlowing'
  | 'socket'
> {
  /** Name, value, … as received. */
  readonly rawHeaders: readonly string[]
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  once(event: 'end' | 'close', listener: () => void): unknown
  off(event: RequestEvent, listener: (chunk: Buffer) => void): unknown
  listenerCount(event: RequestEvent): number
  pause(): unknown
  resume(): unknown
}

/** Receives the end of the connection. */
export interface AnsweredCall {
  clientGone(): void
}

export type ResponseEvent = 'close' | 'drain' | 'prefinish' | 'finish'

export interface ClientResponse extends Pick<
  ServerResponse,
  'headersSent' | 'destroyed' | 'writableEnded' | 'writableFinished' | 'writableLength' | 'shouldKeepAlive'
> {
  call: AnsweredCall | null
  readonly req: Pick<ClientRequest, 'complete'>
  /** Null while the response is queued behind others of its connection, and after its end. */
  readonly socket: Socket | null
  /** `headers` is name, value, …. */
  writeHead(status: number, headers: string[]): unknown
  flushHeaders(): void
  /** Returns false if the client reads slower than the response is written. */
  write(chunk: Buffer): boolean
  end(last?: Buffer | string | null): unknown
  /** Ends the response; `last` is sent with the head if that was not sent. */
  endWith(last: Buffer | string | null, isHeadSent: boolean): void
  /** Sends `100 Continue`, unless the head was sent. */
  askForBody(): void
  /** Aborts the response by closing its connection, after the responses before it. */
  breakOff(): void
  destroy(): unknown
  on(event: ResponseEvent, listener: (this: ClientResponse) => void): unknown
  once(event: ResponseEvent, listener: () => void): unknown
  once(event: 'socket', listener: (socket: Socket) => void): unknown
  off(event: 'socket', listener: () => void): unknown
}

/** A server for clients. */
export interface ClientServer extends Server {
  /** Requests that a connection may still send; 0: any number. */
  maxRequestsPerSocket: number | null
  closeIdleConnections(): void
  closeAllConnections(): void
}
