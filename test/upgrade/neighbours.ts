/**
 * What a packed service talks to, at addresses that its data folder holds: a backend and a receiver of events.
 *
 * The ports lie below the ephemeral range, so that no other test is given one of them.
 */

import { createServer, type Server } from 'node:http'

const BACKEND_PORT = 19_145
const RECEIVER_PORT = 19_146
export const BACKEND_URL = `http://127.0.0.1:${BACKEND_PORT}`
export const RECEIVER_URL = `http://127.0.0.1:${RECEIVER_PORT}/events`

export interface Neighbours {
  /** Types of the events received so far. */
  readonly events: readonly string[]
  close(): Promise<void>
}

export async function startNeighbours(): Promise<Neighbours> {
  const events: string[] = []
  const backend = createServer((request, response) => {
    request.resume()
    const status = Number(new URL(request.url ?? '/', BACKEND_URL).searchParams.get('status') ?? 200)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { type } = JSON.parse(Buffer.concat(chunks).toString()) as { type: string }
      events.push(type)
      response.writeHead(204).end()
    })
  })
  await listen(backend, BACKEND_PORT)
  await listen(receiver, RECEIVER_PORT)
  return {
    events,
    async close() {
      await Promise.all([backend, receiver].map(closed))
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.closeAllConnections()
    server.close(() => resolve())
  })
}
