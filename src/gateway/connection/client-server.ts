/** Opens the server for the clients of a thread: our own, or that of `node:http` (`parser-choice.ts`), with or without TLS. */

import { acceptProxyHeaders } from '../../foundation/runtime/accept-proxy-headers.ts'
import type { ClientServer, ClientServerOptions } from './client.ts'
import { Http1Server } from './http1/http1-server.ts'
import { createNodeServer } from './node/node-server.ts'
import { nodeParser } from './parser-choice.ts'
import { TlsServer } from './tls-server.ts'

export function createClientServer(options: ClientServerOptions, parser = nodeParser): ClientServer {
  const server = createServer(options, parser)
  acceptProxyHeaders(server, options.trustedProxies, () => options.count('malformed'))
  return server
}

function createServer(options: ClientServerOptions, parser: typeof nodeParser): ClientServer {
  if (parser === null) return createNodeServer(options)
  const { tls } = options
  return tls === null ? new Http1Server({ ...options, parser }) : new TlsServer({ ...options, parser }, tls)
}
