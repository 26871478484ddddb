/**
 * Lets trusted proxies name the client of a connection (PROXY protocol, version 2), on any server: the header is read before the
 * server sees the connection, and before a handshake of TLS.
 *
 * A trusted proxy may also send no header. The header of any other peer is refused as invalid HTTP.
 */

import type { Server, Socket } from 'node:net'
import { createIsTrusted, noteProxied } from './client-address.ts'
import { readProxyHeader } from './proxy-header.ts'

/** A connection without a request must end after the same time. */
const HEADER_WITHIN_MS = 15_000

/** Does nothing if there are no trusted proxies. */
export function acceptProxyHeaders(server: Server, proxies: readonly string[], onInvalid: () => void): void {
  if (proxies.length === 0) return
  const isTrusted = createIsTrusted(proxies)
  const emit = server.emit.bind(server) as (event: string, ...parts: unknown[]) => boolean
  server.emit = ((event: string, ...parts: unknown[]): boolean => {
    const [socket] = parts
    if (event !== 'connection' || !isTrusted((socket as Socket).remoteAddress ?? '')) return emit(event, ...parts)
    awaitHeader(socket as Socket, onInvalid, () => emit(event, socket))
    return true
  }) as Server['emit']
}

function awaitHeader(socket: Socket, onInvalid: () => void, accept: () => void): void {
  const destroy = (): void => void socket.destroy()
  const timer = setTimeout(destroy, HEADER_WITHIN_MS)
  let received: Buffer = Buffer.alloc(0)

  function end(): void {
    clearTimeout(timer)
    socket.off('readable', read)
    socket.off('end', destroy)
    socket.off('error', destroy)
    socket.off('close', end)
  }

  function read(): void {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) return
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const header = readProxyHeader(received)
    if (header === 'partial') return
    end()
    if (header === 'invalid') {
      onInvalid()
      return destroy()
    }
    if (header !== 'none' && header.address !== null) noteProxied(socket, header.address)
    const rest = header === 'none' ? received : received.subarray(header.bytes)
    if (rest.length > 0) socket.unshift(rest)
    accept()
  }

  socket.on('readable', read)
  socket.on('end', destroy)
  socket.on('error', destroy)
  socket.on('close', end)
}
