/**
 * undici's connector (DNS, TLS, time limit) for one backend, with the TLS session of its last connection. undici holds sessions
 * weakly, so that it would evict them whenever memory is collected.
 */

import { createRequire } from 'node:module'
import { TLSSocket } from 'node:tls'
import type { buildConnector as BuildConnector } from 'undici'

/** Only this file of undici: all of them take 110 ms of CPU and 17 MB on each gateway thread. */
const buildConnector = createRequire(import.meta.url)('undici/lib/core/connect.js') as typeof BuildConnector

export function createConnector(options: BuildConnector.BuildOptions): BuildConnector.connector {
  let session: Buffer | undefined

  /** A session of TLS 1.3 can be used again once its ticket has arrived. */
  function keepSession(socket: TLSSocket): void {
    if (socket.getProtocol() !== 'TLSv1.3') session = socket.getSession() ?? session
    socket.on('session', (next) => (session = next))
  }

  return (target, callback) => {
    const connect = buildConnector(session === undefined ? options : { ...options, session })
    connect(target, (...result) => {
      if (result[1] instanceof TLSSocket) keepSession(result[1])
      callback(...result)
    })
  }
}
