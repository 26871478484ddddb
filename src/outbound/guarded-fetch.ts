/**
 * A call to an address that a customer has named: an issuer's keys, a webhook's target.
 *
 * Only to https on 443 and 8443 and only to public addresses (`url-guard.ts`, `guarded-lookup.ts`), unless
 * the deployment allows private ones. Redirects are answers like others and never followed. One limit
 * holds for the whole of it, from the first question to the last byte, and one for the size of the
 * answer; both end the connection. A failure is a value: it is expected.
 */

import { Agent } from 'undici'
import type { Clock } from '../runtime/clock.ts'
import { isPublicAddress } from './address-guard.ts'
import { AddressRefused, createGuardedLookup, systemResolve, type Resolve } from './guarded-lookup.ts'
import { refuseUrl } from './url-guard.ts'

export interface OutboundRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  /** Lower case names. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly timeoutMs: number
  readonly bytesMax: number
}

export type OutboundResult = OutboundAnswer | OutboundFailure

export interface OutboundAnswer {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface OutboundFailure {
  readonly kind: 'failed'
  readonly reason: 'url_refused' | 'address_refused' | 'timed_out' | 'too_large' | 'unreachable'
  /** For whoever has named the address; says nothing of our own network. */
  readonly detail: string
}

export interface GuardedFetch {
  fetch(request: OutboundRequest): Promise<OutboundResult>
  close(): Promise<void>
}

export interface GuardedFetchOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Lets through private addresses, plain http and any port: tests and closed networks. */
  readonly allowPrivate: boolean
  readonly resolve?: Resolve
}

const CONNECTIONS_MAX = 8
const CONNECT_WITHIN_MS = 5_000

export function createGuardedFetch({
  clock,
  allowPrivate,
  resolve = systemResolve,
}: GuardedFetchOptions): GuardedFetch {
  const isAllowed = (address: string): boolean => allowPrivate || isPublicAddress(address)
  const agent = new Agent({
    connect: { lookup: createGuardedLookup(resolve, isAllowed), timeout: CONNECT_WITHIN_MS },
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    allowH2: false,
  })

  async function exchange(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResult> {
    const { url, method = 'GET', headers = {}, body = null, bytesMax } = request
    const { origin, pathname, search } = new URL(url)
    const answer = await agent.request({ origin, path: pathname + search, method, headers, body, signal })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer.body) {
      bytes += (chunk as Buffer).length
      // Leaving the loop ends the connection.
      if (bytes > bytesMax) return failed('too_large', `The answer has more than ${bytesMax} bytes.`)
      chunks.push(chunk as Buffer)
    }
    return { kind: 'answered', status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }
  }

  return {
    async fetch(request) {
      const refused = refuseUrl(request.url, { allowPrivate })
      if (refused !== null) return failed('url_refused', refused)
      const limit = new AbortController()
      const { promise: late, resolve: giveUp } = Promise.withResolvers<OutboundFailure>()
      const cancel = clock.after(request.timeoutMs, () => {
        giveUp(failed('timed_out', `There was no whole answer in ${request.timeoutMs} ms.`))
        limit.abort()
      })
      try {
        // undici hears of the end only once it is connected; nobody waits for that.
        return await Promise.race([late, exchange(request, limit.signal)])
      } catch (cause) {
        if (cause instanceof AddressRefused) return failed('address_refused', 'The host is not at a public address.')
        return failed('unreachable', `The host could not be reached${codeOf(cause)}.`)
      } finally {
        cancel()
      }
    },
    close: () => agent.destroy(),
  }
}

function failed(reason: OutboundFailure['reason'], detail: string): OutboundFailure {
  return { kind: 'failed', reason, detail }
}

function codeOf(cause: unknown): string {
  const code = (cause as { code?: unknown } | null)?.code
  return typeof code === 'string' ? ` (${code})` : ''
}
