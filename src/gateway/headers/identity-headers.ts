/** What the gateway tells the backend about a call: who calls, through whom, and on which trace. */

import type { Socket } from 'node:net'
import type { Caller } from '../../plan/caller.ts'

/** Name, value, … for one caller; made once and kept with its seat. */
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

/** Pushes whence a call came (RFC 7239); made once for a connection, which mostly names one host. */
export function createForwarded(): (target: string[], socket: Socket, host: string) => void {
  const origins = new WeakMap<Socket, Origin>()

  return (target, socket, host) => {
    let origin = origins.get(socket)
    if (origin === undefined || origin.host !== host) origins.set(socket, (origin = toOrigin(socket, host)))
    const { address, forwarded } = origin
    target.push('Forwarded', forwarded, 'X-Forwarded-For', address)
    target.push('X-Forwarded-Host', host, 'X-Forwarded-Proto', 'http')
  }
}

/** An IPv6 address is quoted in brackets. */
function toOrigin({ remoteAddress: address = 'unknown' }: Socket, host: string): Origin {
  const node = address.includes(':') ? `"[${address}]"` : address
  return { host, address, forwarded: `for=${node};host="${host.replace(/["\\]/g, '')}";proto=http` }
}

/**
 * W3C Trace Context: a trace of the gateway's own, derived from the request id. The prefix is 16 hex
 * digits, random per thread and start; the sequence makes the rest.
 */
export function toTraceparent(requestId: string): string {
  const parent = requestId.slice(8)
  return `00-${requestId.slice(0, 16)}${parent}-${parent}-01`
}
