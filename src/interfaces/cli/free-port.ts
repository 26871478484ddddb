/**
 * Finds ports for a service that is about to start.
 *
 * They lie below the ports that systems give to connections by themselves (Linux: from 32,768 on), which would take them before the
 * service does.
 */

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const FIRST = 10_240
const NUMBER = 20_000
const ATTEMPTS_MAX = 100
/** Ports are not bound at once: this process returns each one a single time. */
const returned = new Set<number>()

/** Returns a port that is free at this moment; another process may bind it before it is used. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = FIRST + randomInt(NUMBER)
    if (returned.has(port)) continue
    returned.add(port)
    if (await isFree(port, host)) return port
  }
  throw new Error(`no free port was found on ${host}`)
}

/** Returns whether a port can be bound at this moment. Rejects if the address itself cannot be used. */
export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EADDRINUSE' || cause.code === 'EACCES') resolve(false)
      else reject(cause)
    })
    server.listen({ port, host }, () => server.close(() => resolve(true)))
  })
}
