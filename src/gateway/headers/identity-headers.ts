/** Headers that describe a call to the backend: the caller, the client's address and the trace. */

import type { Socket } from 'node:net'
import type { Caller } from '../../plan/caller.ts'
import type { AddressedRequest, ClientAddress } from '../../runtime/client-address.ts'

/** Returns name, value, … for one caller; computed once per caller context. */
export function toIdentityHeaders({ grant, agent, person }: Caller): readonly string[] {
  const headers = ['X-Consumer-Id', grant.consumer, 'X-Subscription-Id', grant.subscription]
  if (agent !== '') headers.push('X-Agent-Id', agent)
  if (person !== '') headers.push('X-On-Behalf-Of', encodeURIComponent(person))
  return headers
}

interface Origin {
  readonly host: string
  readonly address: string
  readonly forwarded: string
}

interface ForwardedCall {
  readonly socket: Socket
  readonly request: AddressedRequest
}

/** Adds the client's address and host (RFC 7239). */
export type PushForwarded = (target: string[], call: ForwardedCall, host: string) => void

/** Without trusted proxies, the values of each connection are cached. With them, each call has an address of its own. */
export function createForwarded(clientAddress: ClientAddress | null): PushForwarded {
  if (clientAddress !== null) {
    return (target, { request }, host) => push(target, toOrigin(clientAddress(request), host))
  }
  const origins = new WeakMap<Socket, Origin>()
  return (target, { socket }, host) => {
    let origin = origins.get(socket)
    if (origin === undefined || origin.host !== host)
      origins.set(socket, (origin = toOrigin(socket.remoteAddress, host)))
    push(target, origin)
  }
}

function push(target: string[], { host, address, forwarded }: Origin): void {
  target.push('Forwarded', forwarded, 'X-Forwarded-For', address)
  target.push('X-Forwarded-Host', host, 'X-Forwarded-Proto', 'http')
}

/** Formats the values; RFC 7239 requires quotes and brackets around an IPv6 address. */
function toOrigin(address = 'unknown', host: string): Origin {
  const node = address.includes(':') ? `"[${address}]"` : address
  return { host, address, forwarded: `for=${node};host="${host.replace(/["\\]/g, '')}";proto=http` }
}

/**
 * Returns a W3C Trace Context header for a new trace, derived from the request id: 16 random hex digits per thread and start,
 * followed by the sequence number.
 */
export function toTraceparent(requestId: string): string {
  const parent = requestId.slice(8)
  return `00-${requestId.slice(0, 16)}${parent}-${parent}-01`
}
