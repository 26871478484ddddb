/** A backend that holds each call for a moment, and notes when each call came and left. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Random } from '../../random.ts'

export interface Arrival {
  readonly atMs: number
  leftMs: number | null
}

export interface ChaosBackend {
  readonly url: string
  /** By the number of the call in its query. A call that came twice is in `repeated`. */
  readonly arrivals: Map<string, Arrival>
  readonly repeated: string[]
  close(): Promise<void>
}

const HOLD_MS_MAX = 80

/** The answer of a call is the first segment of its path, so that each revision can have its own. */
export async function startChaosBackend(random: Random): Promise<ChaosBackend> {
  const arrivals = new Map<string, Arrival>()
  const repeated: string[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://backend')
    const n = searchParams.get('n') ?? ''
    if (arrivals.has(n)) repeated.push(n)
    const arrival: Arrival = { atMs: Date.now(), leftMs: null }
    arrivals.set(n, arrival)
    response.once('close', () => (arrival.leftMs ??= Date.now()))
    request.resume()
    setTimeout(() => {
      arrival.leftMs = Date.now()
      const body = JSON.stringify({ answer: pathname.split('/')[1] })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    }, random.below(HOLD_MS_MAX))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    repeated,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
