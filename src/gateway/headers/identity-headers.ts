/** Headers that describe a call to the backend: the caller, the client's address and the trace. */

import type { Socket } from 'node:net'
import { toHeaderLines } from '../connection/header-lines.ts'
import { inOnePiece } from '../../foundation/runtime/one-piece.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import {
  protocolOfConnection,
  type AddressedRequest,
  type ClientAddress,
  type Protocol,
} from '../../foundation/runtime/client-address.ts'

/** Returns the lines for one caller; computed once per caller context. */
export function toIdentityLines({ grant, agent, person }: Caller): string {
  const headers = ['X-Consumer-Id', grant.consumer, 'X-Subscription-Id', grant.subscription]
  if (agent !== '') headers.push('X-Agent-Id', agent)
  if (person !== '') headers.push('X-On-Behalf-Of', encodeURIComponent(person))
  return inOnePiece(toHeaderLines(headers))
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
    return ({ request }, host) => toLines(clientAddress(request), host, clientAddress.protocolOf(request))
  }
  const origins = new WeakMap<Socket, Origin>()
  return ({ socket }, host) => {
    let origin = origins.get(socket)
    if (origin === undefined || origin.host !== host) {
      origin = { host, lines: toLines(socket.remoteAddress, host, protocolOfConnection(socket)) }
      origins.set(socket, origin)
    }
    return origin.lines
  }
}

/** RFC 7239 requires quotes and brackets around an IPv6 address. */
function toLines(address = 'unknown', host: string, protocol: Protocol): string {
  const node = address.includes(':') ? `"[${address}]"` : address
  const forwarded = `for=${node};host="${host.replace(/["\\]/g, '')}";proto=${protocol}`
  const client = ['Forwarded', forwarded, 'X-Forwarded-For', address]
  return inOnePiece(toHeaderLines([...client, 'X-Forwarded-Host', host, 'X-Forwarded-Proto', protocol]))
}

/** Length of the random part of a request id, which all calls of a thread have in common; the number of the call follows. */
const PREFIX_LENGTH = 16

/** Returns the lines for the id of a call, and for a new trace that is derived from it (W3C Trace Context). */
export function createTraceLines(): (requestId: string) => string {
  let prefix = ''
  let parent = ''
  let start = ''
  return (requestId) => {
    if (prefix === '' || !requestId.startsWith(prefix)) {
      prefix = requestId.slice(0, PREFIX_LENGTH)
      parent = prefix.slice(8)
      start = inOnePiece(`\r\ntraceparent: 00-${prefix}${parent}`)
    }
    const number = requestId.slice(PREFIX_LENGTH)
    return `X-Request-Id: ${requestId}${start}${number}-${parent}${number}-01\r\n`
  }
}
