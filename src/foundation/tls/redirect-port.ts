/**
 * Redirects HTTP to HTTPS.
 *
 * The host of the request is kept if this service has a certificate for it: any other one could lead the client elsewhere.
 */

import { createServer } from '../runtime/node-http.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { SecureContexts } from './secure-contexts.ts'

export interface RedirectPortOptions {
  readonly host: string
  readonly port: number
  readonly reusePort?: boolean
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly contexts: () => Pick<SecureContexts, 'names'>
  readonly opened: Opened
}

const BOUNDS = { requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 5_000, maxHeaderSize: 16_384 }
const CONNECTIONS_MAX = 1_000
/** The name of a host, or an IPv4 address, with or without a port. */
const HOST = /^([a-z0-9._-]{1,253})(?::\d{1,5})?$/i

/** Resolves when the port is bound. */
export async function openRedirectPort(options: RedirectPortOptions): Promise<void> {
  const { host, port, reusePort = false, opened } = options
  const server = createServer(BOUNDS, (request, response) => {
    const { headers, url = '/' } = request
    const path = url.startsWith('/') ? url : '/'
    const Location = toOrigin(options, headers.host ?? '') + path
    // The body of the request would have to be read before the next one.
    response.writeHead(308, { Location, 'Content-Length': 0, Connection: 'close' }).end()
  })
  server.maxConnections = CONNECTIONS_MAX
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host, port, reusePort }, resolve)
  await promise
  opened('redirect port', async () => {
    const ended = new Promise<void>((done) => server.close(() => done()))
    server.closeAllConnections()
    await ended
  })
}

function toOrigin({ gatewayUrl, baseUrl, contexts }: RedirectPortOptions, host: string): string {
  const gateway = new URL(gatewayUrl)
  const platform = new URL(baseUrl)
  const name = HOST.exec(host)?.[1]?.toLowerCase() ?? ''
  if (name === platform.hostname && name !== gateway.hostname) return secureOrigin(name, platform)
  return secureOrigin(contexts().names(name) ? name : gateway.hostname, gateway)
}

function secureOrigin(name: string, { protocol, port }: URL): string {
  return `https://${name}${protocol === 'https:' && port !== '' ? `:${port}` : ''}`
}
