/**
 * Checks that a port is free, before the service opens anything else.
 *
 * A port that the system chose stays bound until the service listens on it: otherwise a connection of this machine or another process
 * could take it meanwhile. Both sockets set `SO_REUSEPORT` for that, which this relies on for Linux only; elsewhere the port is
 * released at once.
 */

import { createServer, type AddressInfo } from 'node:net'
import { StartRefused } from './start-refused.ts'

export interface HeldPorts {
  /** Returns whether a server has to listen on the port with `reusePort`. Stays true after the release. */
  has(port: number): boolean
  /** Binds a free port, a different one each time, and holds it. Rejects with `StartRefused`. */
  hold(name: string, host: string): Promise<number>
  /** Ends the hold once the service listens on the ports. */
  release(): void
}

interface Bound {
  readonly port: number
  close(): Promise<void>
}

const CAN_SHARE = process.platform === 'linux'

export function createHeldPorts(): HeldPorts {
  const ports = new Set<number>()
  const held: Bound[] = []
  return {
    has: (port) => ports.has(port),
    async hold(name, host) {
      if (!CAN_SHARE) return checkPort(name, host, 0)
      const bound = await bind(name, { host, port: 0, reusePort: true })
      ports.add(bound.port)
      held.push(bound)
      return bound.port
    },
    release() {
      for (const bound of held.splice(0)) void bound.close()
    },
  }
}

/**
 * Binds the port and releases it. Returns its number; port 0 selects a free one. Rejects with `StartRefused` if the port cannot be
 * bound.
 */
export async function checkPort(name: string, host: string, port: number): Promise<number> {
  const bound = await bind(name, { host, port, reusePort: false })
  await bound.close()
  return bound.port
}

function bind(name: string, address: { host: string; port: number; reusePort: boolean }): Promise<Bound> {
  const { promise, resolve, reject } = Promise.withResolvers<Bound>()
  const server = createServer((socket) => socket.destroy())
  server.on('error', (cause: NodeJS.ErrnoException) =>
    reject(new StartRefused(reasonFor(name, address.host, address.port, cause.code))),
  )
  server.listen({ ...address, exclusive: true }, () => {
    const { port } = server.address() as AddressInfo
    resolve({ port, close: () => new Promise((closed) => server.close(() => closed())) })
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
