/** A server for clients on a real port, without the gateway behind it. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { createClientServer } from '../../../../../src/gateway/connection/client-server.ts'
import type { ClientResponse, ClientServer, ClientServerOptions } from '../../../../../src/gateway/connection/client.ts'
import { findHttpParser } from '../../../../../src/gateway/connection/http1/http-parser.ts'
import { Http1Server } from '../../../../../src/gateway/connection/http1/http1-server.ts'
import { listen, received } from '../../../../fixtures/test-backend.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'

export interface OpenedServer {
  readonly server: ClientServer
  /** Reasons of `count`. */
  readonly counts: readonly string[]
  readonly faults: readonly unknown[]
  /** Opens a connection that stays open until the end of the test, also after the server has closed its side. */
  open(): Promise<Socket>
  /** Sends bytes on a new connection; resolves with all received bytes when the server closes it. */
  raw(text: string): Promise<string>
}

export interface ServerChoice {
  readonly connectionsMax?: number
  readonly scanEveryMs?: number
  /** Serves with `node:http`. */
  readonly isFallback?: boolean
}

const parser = findHttpParser()!

export async function openServer(
  onRequest: ClientServerOptions['onRequest'],
  { connectionsMax = 100, scanEveryMs = 5_000, isFallback = false }: ServerChoice = {},
): Promise<OpenedServer> {
  const counts: string[] = []
  const faults: unknown[] = []
  const options: ClientServerOptions = {
    connectionsMax,
    tls: null,
    trustedProxies: [],
    count: (reason) => void counts.push(reason),
    onRequest,
    onFault: (cause) => void faults.push(cause),
  }
  const server = isFallback ? createClientServer(options, null) : new Http1Server({ ...options, parser, scanEveryMs })
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })

  const open = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => resolve(socket))
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
    })

  return {
    server,
    counts,
    faults,
    open,
    async raw(text) {
      const socket = await open()
      socket.on('end', () => socket.destroy())
      socket.write(text, 'latin1')
      return received(socket)
    },
  }
}

export const get = (path = '/', headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`
export const CLOSE = 'Connection: close\r\n'
export const statusesIn = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

/** Sends requests one after the other on a connection of its own, so that the server has handled what arrived before. */
export async function exchangeOften({ open }: OpenedServer): Promise<void> {
  const socket = await open()
  for (let round = 0; round < 100; round++) {
    socket.write(get())
    await once(socket, 'data')
  }
}

/** Sends a whole response. */
export function answer(response: ClientResponse, text = 'ok'): void {
  response.start(200, toResponseFields(['Content-Length', String(text.length)]))
  response.end(text)
}
