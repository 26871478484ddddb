/** A backend that responds immediately with a body of a known length, and stores the calls that it received. */

import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LedgerBackend {
  readonly url: string
  /** Number of calls by value of the query parameter `n`. */
  readonly seen: Map<string, number>
  /** Headers of the latest call. */
  readonly last: () => IncomingHttpHeaders
  close(): Promise<void>
}

export async function startLedgerBackend(answer = 'ok'): Promise<LedgerBackend> {
  const seen = new Map<string, number>()
  let last: IncomingHttpHeaders = {}
  const server: Server = createServer((request, response) => {
    const n = new URL(request.url ?? '/', 'http://backend').searchParams.get('n') ?? ''
    last = request.headers
    seen.set(n, (seen.get(n) ?? 0) + 1)
    request.resume()
    const body = JSON.stringify({ answer, n })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    last: () => last,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** `Ledger` 1.0.0 with one read operation, and a second one to distinguish revisions. */
export function ledgerDocument(version = '1.0.0'): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Ledger', version, description: 'Entries, one at a time.' },
    servers: [{ url: 'http://127.0.0.1:1' }],
    components: {
      securitySchemes: {
        oauth: {
          type: 'oauth2',
          flows: { clientCredentials: { tokenUrl: '/token', scopes: { 'entries:read': 'read entries' } } },
        },
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
    security: [{ oauth: ['entries:read'] }, { key: [] }],
    paths: {
      '/entries': {
        get: {
          operationId: 'listEntries',
          parameters: [{ name: 'n', in: 'query', schema: { type: 'string' } }],
          responses: { 200: { description: 'Entries' } },
        },
      },
    },
  }
}
