/** Headers that describe a call to the backend: the caller, the client's address and the trace. */

import type { Socket } from 'node:net'
import { toHeaderLines } from '../connection/header-lines.ts'
import type { Caller } from '../../plan/caller.ts'
import type { AddressedRequest, ClientAddress } from '../../runtime/client-address.ts'

/** Returns the lines for one caller; computed once per caller context. */
export function toIdentityLines({ grant, agent, person }: Caller): string {
  const headers = ['X-Consumer-Id', grant.consumer, 'X-Subscription-Id', grant.subscription]
  if (agent !== '') headers.push('X-Agent-Id', agent)
  if (person !== '') headers.push('X-On-Behalf-Of', encodeURIComponent(person))
  return toHeaderLines(headers)
}

interface Origin {
  readonly host: string
  readonly lines: string
}

interface ForwardedCall {
  readonly socket: Socket
  readonly request: AddressedRequest
}

/** Returns the lines for the client's address and host (RFC 7239). */
export type ToForwardedLines = (call: ForwardedCall, host: string) => string

/** Without trusted proxies, the values of each connection are cached. With them, each call has an address of its own. */
export function createForwarded(clientAddress: ClientAddress | null): ToForwardedLines {
  if (clientAddress !== null) {
    return ({ request }, host) => toLines(clientAddress(request), host)
  }
  const origins = new WeakMap<Socket, Origin>()
  return ({ socket }, host) => {
    let origin = origins.get(socket)
    if (origin === undefined || origin.host !== host) {
      origin = { host, lines: toLines(socket.remoteAddress, host) }
      origins.set(socket, origin)
    }
    return origin.lines
  }
}

/** RFC 7239 requires quotes and brackets around an IPv6 address. */
function toLines(address = 'unknown', host: string): string {
  const node = address.includes(':') ? `"[${address}]"` : address
  const forwarded = `for=${node};host="${host.replace(/["\\]/g, '')}";proto=http`
  const client = ['Forwarded', forwarded, 'X-Forwarded-For', address]
  return toHeaderLines([...client, 'X-Forwarded-Host', host, 'X-Forwarded-Proto', 'http'])
}

/** Returns the lines for the id of a call and for its trace; both have hexadecimal digits and dashes only. */
export function toTraceLines(requestId: string): string {
  return `X-Request-Id: ${requestId}\r\ntraceparent: ${toTraceparent(requestId)}\r\n`
}

/**
 * Returns a W3C Trace Context header for a new trace, derived from the request id: 16 random hex digits per thread and start,
 * followed by the sequence number.
 */
function toTraceparent(requestId: string): string {
  const parent = requestId.slice(8)
  return `00-${requestId.slice(0, 16)}${parent}-${parent}-01`
}
