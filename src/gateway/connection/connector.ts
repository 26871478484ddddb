/**
 * undici's connector (DNS, TLS, time limit) for one backend, with the TLS session of its last connection. undici holds sessions
 * weakly, so that it would forget them whenever memory is collected.
 */

import { TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'

export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
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
