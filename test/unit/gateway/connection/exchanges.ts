/** Backends over HTTP, and exchanges with them. */

import { createServer, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type {
  BackendConnections,
  ExchangeHandler,
  ExchangeRequest,
} from '../../../../src/gateway/connection/exchange.ts'
import { listen } from '../../../fixtures/test-backend.ts'

export async function openServer(listener: RequestListener) {
  const sockets: Socket[] = []
  const server = createServer(listener)
  server.on('connection', (socket) => sockets.push(socket))
  const origin = `http://127.0.0.1:${await listen(server)}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin, sockets }
}

interface Answer {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
}

export function start(
  connections: BackendConnections,
  request: Partial<ExchangeRequest> = {},
  taps: Partial<ExchangeHandler> = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let answer: Answer = { status: 0, headers: [], body: '' }
  const handler: ExchangeHandler = {
    onHead(exchange, status, headers) {
      answer = { ...answer, status, headers: headers.raw }
      taps.onHead?.(exchange, status, headers)
    },
    onData(exchange, chunk) {
      answer = { ...answer, body: answer.body + chunk.toString('latin1') }
      return taps.onData?.(exchange, chunk) ?? null
    },
    onEnd: () => resolve(answer),
    onError: (_, error) => reject(error),
    ...(taps.trailers && { trailers: taps.trailers }),
  }
  const whole = { method: 'GET', path: '/', lines: '', body: null, bodyBytes: 0, ...request }
  return { exchange: connections.send(whole, handler), answered: promise }
}
