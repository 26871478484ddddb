/** Opens the server for the clients of a thread: our own, or that of `node:http` (`parser-choice.ts`), with or without TLS. */

import type { ClientServer, ClientServerOptions } from './client.ts'
import { Http1Server } from './http1/http1-server.ts'
import { createNodeServer } from './node/node-server.ts'
import { nodeParser } from './parser-choice.ts'
import { TlsServer } from './tls-server.ts'

export function createClientServer(options: ClientServerOptions, parser = nodeParser): ClientServer {
  if (parser === null) return createNodeServer(options)
  const { tls } = options
  return tls === null ? new Http1Server({ ...options, parser }) : new TlsServer({ ...options, parser }, tls)
}
