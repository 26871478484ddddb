/**
 * The backend of the sample API: a small HTTP server in this process, so that the first start has a real backend.
 *
 * It implements `payments.openapi.yaml` and stores a bounded number of resources in memory. `latencyMs` simulates a slower backend.
 */

import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createLedger } from './ledger.ts'
import { refuse, sampleOperations, type SampleAnswer, type SampleOperation } from './operations.ts'

export interface SampleBackendOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Delay before each response; default 0. */
  readonly latencyMs?: number
  readonly nowMs?: () => number
  readonly newHex?: () => string
}

export interface SampleBackend {
  readonly url: string
  /** Stops listening and resolves when the responses in flight are complete. */
  close(): Promise<void>
}

const BODY_BYTES_MAX = 1_048_576
/** Longer than the gateway keeps an idle connection, so that the gateway closes it first. */
const KEEP_ALIVE_MS = 120_000

export async function startSampleBackend(options: SampleBackendOptions): Promise<SampleBackend> {
  const { host, port, latencyMs = 0, nowMs = Date.now, newHex = () => randomBytes(8).toString('hex') } = options
  const operations = sampleOperations(createLedger({ nowMs, newHex }), nowMs)

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    answerTo(operations, request)
      .then((answer) => wait(latencyMs).then(() => send(response, answer)))
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })

  const { port: bound, family, address } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

async function answerTo(operations: readonly SampleOperation[], request: IncomingMessage): Promise<SampleAnswer> {
  const url = new URL(request.url ?? '/', 'http://sample')
  const text = await readBody(request)
  if (text === null) return { status: 413, body: { type: 'about:blank', title: 'Too large', status: 413 } }

  let body: unknown
  try {
    body = text === '' ? {} : JSON.parse(text)
  } catch {
    return { status: 400, body: { type: 'about:blank', title: 'Not JSON', status: 400 } }
  }
  for (const operation of operations) {
    const ids = operation.method === request.method ? matches(operation.path, url.pathname) : null
    if (ids !== null) return operation.answer({ ids, query: url.searchParams, body })
  }
  return refuse('not_found')
}

/** Returns the segments that match each `*`; null if the path does not match. */
function matches(template: string, path: string): readonly string[] | null {
  const wanted = template.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return null
  return wanted.every((segment, index) => segment === '*' || segment === given[index])
    ? given.filter((_, index) => wanted[index] === '*')
    : null
}

/** Returns null if the body exceeds the limit; the rest of it is read and discarded. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk)
  }
  return bytes <= BODY_BYTES_MAX ? Buffer.concat(chunks).toString('utf8') : null
}

async function send(response: ServerResponse, { status, body, location, lines }: SampleAnswer): Promise<void> {
  if (location !== undefined) response.setHeader('location', location)
  if (lines !== undefined) {
    response.writeHead(status, { 'content-type': 'text/csv; charset=utf-8' })
    return pipeline(Readable.from(lines), response)
  }
  if (body === undefined) return void response.writeHead(status).end()

  const bytes = Buffer.from(JSON.stringify(body), 'utf8')
  const type = status < 400 ? 'application/json' : 'application/problem+json'
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length }).end(bytes)
}

function wait(delayMs: number): Promise<void> {
  return delayMs > 0 ? new Promise((resolve) => setTimeout(resolve, delayMs)) : Promise.resolve()
}
