/** Sessions for clients on a real port, without the gateway behind them. */

import { connect as connectHttp2, type ClientHttp2Session, type SecureClientSessionOptions } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { ClientServerOptions } from '../../../../../src/gateway/connection/client.ts'
import { Http2Sessions } from '../../../../../src/gateway/connection/http2/http2-sessions.ts'
import { listen } from '../../../../fixtures/test-backend.ts'
import { OPENING, parseFrames, type Frame } from './frames.ts'

export interface OpenedSessions {
  readonly port: number
  readonly sessions: Http2Sessions
  /** Reasons of `count`. */
  readonly counts: readonly string[]
  readonly faults: readonly unknown[]
  /** Opens a client of Node. */
  client(options?: SecureClientSessionOptions): ClientHttp2Session
  /** Opens a connection and sends bytes. */
  raw(bytes?: Buffer): RawClient
}

export interface SessionsChoice {
  readonly connectionsMax?: number
  readonly scanEveryMs?: number
}

/** A client that sends frames as they are. */
export class RawClient {
  readonly socket: Socket
  readonly frames: Frame[] = []
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>
  #rest = Buffer.alloc(0)
  readonly #waiting: { readonly matches: (frame: Frame) => boolean; readonly resolve: (frame: Frame) => void }[] = []

  constructor(port: number, bytes: Buffer) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()))
    this.socket.write(bytes)
  }

  send(...parts: readonly Buffer[]): this {
    this.socket.write(Buffer.concat(parts))
    return this
  }

  /** Resolves with the first frame that matches, also one that has arrived already. */
  frame(type: number, matches: (frame: Frame) => boolean = () => true): Promise<Frame> {
    const isWanted = (frame: Frame): boolean => frame.type === type && matches(frame)
    const found = this.frames.find(isWanted)
    if (found !== undefined) return Promise.resolve(found)
    return new Promise((resolve) => this.#waiting.push({ matches: isWanted, resolve }))
  }

  #receive(chunk: Buffer): void {
    const { frames, length } = parseFrames(Buffer.concat([this.#rest, chunk]))
    this.#rest = Buffer.concat([this.#rest, chunk]).subarray(length)
    for (const frame of frames) {
      this.frames.push(frame)
      for (const { matches, resolve } of this.#waiting) if (matches(frame)) resolve(frame)
    }
  }
}

export async function openSessions(
  onRequest: ClientServerOptions['onRequest'],
  { connectionsMax = 1_000, scanEveryMs }: SessionsChoice = {},
): Promise<OpenedSessions> {
  const counts: string[] = []
  const faults: unknown[] = []
  const sessions = new Http2Sessions({
    connectionsMax,
    ...(scanEveryMs !== undefined && { scanEveryMs }),
    count: (reason) => void counts.push(reason),
    onRequest,
    onFault: (cause) => void faults.push(cause),
  })
  const server = createServer((socket) => sessions.accept(socket))
  const port = await listen(server)
  onTestFinished(() => {
    sessions.closeAllConnections()
    server.close()
  })

  return {
    port,
    sessions,
    counts,
    faults,
    client(options) {
      const client = connectHttp2(`http://127.0.0.1:${port}`, options)
      client.on('error', () => {})
      onTestFinished(() => client.destroy())
      return client
    },
    raw(bytes = OPENING) {
      const client = new RawClient(port, bytes)
      onTestFinished(() => void client.socket.destroy())
      return client
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  /** Why the stream was reset. */
  readonly rstCode: number
}

/** Sends a request with a body, and resolves with the response when its stream has ended. */
export async function exchange(
  client: ClientHttp2Session,
  fields: Record<string, string | string[]>,
  body: string | Buffer = '',
): Promise<Answer> {
  const stream = client.request(fields, { endStream: body.length === 0 })
  let headers: Record<string, unknown> = {}
  let text = ''
  stream.on('error', () => {})
  stream.on('response', (received) => (headers = Object.fromEntries(Object.entries(received))))
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  if (body.length > 0) stream.end(body)
  await new Promise<void>((resolve) => stream.once('close', () => resolve()))
  return { status: Number(headers[':status'] ?? 0), headers, body: text, rstCode: stream.rstCode }
}
