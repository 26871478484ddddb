/** Reads a response with our connection, and with `node:http`, over a connection in memory. */

import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { duplexPair, type Duplex } from 'node:stream'
import { Http1Connection } from '../../../../../src/gateway/connection/http1/http1-connection.ts'
import { Http1Exchange } from '../../../../../src/gateway/connection/http1/http1-exchange.ts'
import { findHttpParser } from '../../../../../src/gateway/connection/http1/http-parser.ts'
import type { ExchangeHandler } from '../../../../../src/gateway/connection/exchange.ts'

export interface Reading {
  /** `failed` also if the response ended early. */
  readonly verdict: 'complete' | 'failed'
  readonly status: number
  /** Name, value, … */
  readonly headers: readonly string[]
  readonly body: string
  /** Whether the connection may carry another request. */
  readonly isReusable: boolean
  readonly code: string
}

export interface SentBytes {
  readonly bytes: Buffer
  readonly splits?: readonly number[]
  /** Whether the sender closes its side after the bytes. */
  readonly ends: boolean
}

export interface Sent extends SentBytes {
  readonly method: string
}

const parser = findHttpParser()!

function piecesOf({ bytes, splits = [] }: SentBytes): readonly Buffer[] {
  const edges = [0, ...splits, bytes.length]
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge))
}

/** Writes the pieces one by one, each in a read of its own. */
export async function writePieces(sender: Duplex, sent: SentBytes): Promise<void> {
  for (const piece of piecesOf(sent)) {
    if (piece.length === 0 || sender.destroyed) continue
    sender.write(piece)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  if (sent.ends) sender.end()
  for (let turns = 0; turns < 3; turns++) await new Promise<void>((resolve) => setImmediate(resolve))
}

export async function readWithOurs(sent: Sent): Promise<Reading> {
  const [client, backend] = duplexPair()
  let reading: Reading = { verdict: 'failed', status: 0, headers: [], body: '', isReusable: false, code: 'none' }
  let isReusable = false
  // The backend reads the request, as one that answers does.
  backend.resume()
  const socket = client as unknown as Socket
  const connection = new Http1Connection(socket, (events) => parser.readResponses(events, 32_768), {
    onIdle: () => (isReusable = true),
    onClosed() {},
  })
  const handler: ExchangeHandler = {
    onHead: (_, status, { raw: headers }) => (reading = { ...reading, status, headers }),
    onData(_, chunk) {
      reading = { ...reading, body: reading.body + chunk.toString('latin1') }
      return null
    },
    onEnd: () => (reading = { ...reading, verdict: 'complete', code: '' }),
    onError: (_, error) => (reading = { ...reading, code: error.code ?? '' }),
  }
  const request = { method: sent.method, path: '/', lines: '', body: null, bodyBytes: 0 }
  connection.carry(new Http1Exchange(request, handler, `${sent.method} / HTTP/1.1\r\nHost: a\r\n\r\n`))
  await writePieces(backend, sent)
  connection.close()
  return { ...reading, isReusable }
}

export async function readWithNode(sent: Sent): Promise<Reading> {
  const [client, backend] = duplexPair()
  let reading: Reading = { verdict: 'failed', status: 0, headers: [], body: '', isReusable: false, code: 'none' }
  const request = httpRequest({ method: sent.method, createConnection: () => client as unknown as Socket })
  const fail = (error: NodeJS.ErrnoException): void => {
    if (reading.verdict === 'failed') reading = { ...reading, code: error.code ?? '' }
  }
  request.on('error', fail)
  request.on('response', (response) => {
    reading = { ...reading, status: response.statusCode ?? 0, headers: response.rawHeaders }
    response.on('data', (chunk: Buffer) => (reading = { ...reading, body: reading.body + chunk.toString('latin1') }))
    response.on('end', () => (reading = { ...reading, verdict: response.complete ? 'complete' : 'failed' }))
    response.on('error', fail)
  })
  request.end()
  await writePieces(backend, sent)
  client.destroy()
  return reading
}
