/** Opens the server for the clients of a thread: our own, or that of `node:http` (`parser-choice.ts`). */

import type { ClientServer, ClientServerOptions } from './client.ts'
import { Http1Server } from './http1/http1-server.ts'
import { createNodeServer } from './node/node-server.ts'
import { nodeParser } from './parser-choice.ts'

export function createClientServer(options: ClientServerOptions, parser = nodeParser): ClientServer {
  return parser === null ? createNodeServer(options) : new Http1Server({ ...options, parser })
}
