/**
 * Opens a connection to a backend and closes it, to warn about a backend that cannot be reached. Decides nothing.
 *
 * Only for the operator's tenant: for other tenants it would be a port scanner of the gateway's network.
 */

import { connect } from 'node:net'

export interface ConnectProbeOptions {
  /** The only tenant that may probe. */
  readonly operator: string
  readonly withinMs?: number
}

const WITHIN_MS = 1_000
const AT_ONCE_MAX = 8

/** Returns why a connection failed; null if it succeeded, or if none was tried. */
export function createConnectProbe({ operator, withinMs = WITHIN_MS }: ConnectProbeOptions) {
  let running = 0
  return async (tenant: string, url: string): Promise<string | null> => {
    const target = URL.parse(url)
    if (tenant !== operator || target === null || running >= AT_ONCE_MAX) return null
    running++
    try {
      return await tryConnection(target, withinMs)
    } finally {
      running--
    }
  }
}

function tryConnection({ hostname, port, protocol }: URL, withinMs: number): Promise<string | null> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout: withinMs })
  // Also bounds the look-up of the name, which the socket's own timeout does not.
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const timer = setTimeout(() => resolve('no connection in time'), withinMs)
  socket.once('connect', () => resolve(null))
  socket.once('timeout', () => resolve('no connection in time'))
  socket.on('error', (cause: NodeJS.ErrnoException) => resolve(cause.code ?? 'connection failed'))
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}
