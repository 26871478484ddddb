/** Checks that a port is free, before the service opens anything else. */

import { createServer, type AddressInfo } from 'node:net'
import { StartRefused } from './start-refused.ts'

/**
 * Binds the port and releases it. Returns its number; port 0 selects a free one. Rejects with `StartRefused` if the port cannot be
 * bound.
 */
export function checkPort(name: string, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.once('error', (cause: NodeJS.ErrnoException) =>
    reject(new StartRefused(reasonFor(name, host, port, cause.code))),
  )
  server.listen({ host, port, exclusive: true }, () => {
    const { port: bound } = server.address() as AddressInfo
    server.close(() => resolve(bound))
  })
  return promise
}

function reasonFor(name: string, host: string, port: number, code: string | undefined): string {
  if (code === 'EADDRINUSE')
    return `${name} ${port} on ${host} is in use; stop the process that uses it, or set another port`
  if (code === 'EACCES') return `this user may not listen on ${name} ${port} at ${host}; set a port above 1023`
  if (code === 'EADDRNOTAVAIL')
    return `HOST ${host} is not an address of this machine; set HOST to one of its addresses, or to 0.0.0.0 to listen on all of them`
  return `${name} ${port} on ${host} cannot be bound (${code ?? 'unknown'}); set another port or HOST`
}
