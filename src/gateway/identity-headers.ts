/** What the gateway tells the backend about a call: who calls, through whom, and on which trace. */

import type { Caller } from '../catalogue/caller.ts'

/** Name, value, … for one caller; made once and kept with its seat. */
export function toIdentityHeaders({ grant, agent, person }: Caller): readonly string[] {
  const headers = ['X-Consumer-Id', grant.consumer, 'X-Subscription-Id', grant.subscription]
  if (agent !== '') headers.push('X-Agent-Id', agent)
  if (person !== '') headers.push('X-On-Behalf-Of', encodeURIComponent(person))
  return headers
}

/** RFC 7239; an IPv6 address is quoted in brackets. */
export function pushForwarded(target: string[], address: string, host: string): void {
  const node = address.includes(':') ? `"[${address}]"` : address
  target.push('Forwarded', `for=${node};host="${host.replace(/["\\]/g, '')}";proto=http`)
  target.push('X-Forwarded-For', address, 'X-Forwarded-Host', host, 'X-Forwarded-Proto', 'http')
}

/**
 * W3C Trace Context: a trace of the gateway's own, derived from the request id. The prefix is 16 hex
 * digits, random per thread and start; the sequence makes the rest.
 */
export function toTraceparent(requestPrefix: string, sequence: number): string {
  const count = sequence.toString(16).padStart(8, '0')
  const prefix = requestPrefix.slice(0, 8)
  return `00-${requestPrefix}${prefix}${count}-${prefix}${count}-01`
}
