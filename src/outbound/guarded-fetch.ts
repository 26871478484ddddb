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
  /** Of a longer or slower body the beginning is enough, once the status is known. */
  readonly isCut?: boolean
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
  /** To one origin at once; who asks for more waits, and his time runs. */
  readonly connectionsMax?: number
}

const CONNECTIONS_MAX = 8
const CONNECT_WITHIN_MS = 5_000

export function createGuardedFetch({
  clock,
  allowPrivate,
  resolve = systemResolve,
  connectionsMax = CONNECTIONS_MAX,
}: GuardedFetchOptions): GuardedFetch {
  const isAllowed = (address: string): boolean => allowPrivate || isPublicAddress(address)
  const agent = new Agent({
    connect: { lookup: createGuardedLookup(resolve, isAllowed), timeout: CONNECT_WITHIN_MS },
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
  })

  /** `begun` hears of the answer as soon as its head is there; its body grows. */
  async function exchange(
    request: OutboundRequest,
    signal: AbortSignal,
    begun: (answer: () => OutboundAnswer) => void,
  ): Promise<OutboundResult> {
    const { url, method = 'GET', headers = {}, body = null, bytesMax, isCut = false } = request
    const { origin, pathname, search } = new URL(url)
    const answer = await agent.request({ origin, path: pathname + search, method, headers, body, signal })
    const chunks: Buffer[] = []
    let bytes = 0
    const soFar = (): OutboundAnswer => ({
      kind: 'answered',
      status: answer.statusCode,
      headers: answer.headers,
      body: Buffer.concat(chunks),
    })
    begun(soFar)
    for await (const chunk of answer.body) {
      bytes += (chunk as Buffer).length
      // Leaving the loop ends the connection.
      if (bytes > bytesMax)
        return isCut ? soFar() : failed('too_large', `The response has more than ${bytesMax} bytes.`)
      chunks.push(chunk as Buffer)
    }
    return soFar()
  }

  return {
    async fetch(request) {
      const refused = refuseUrl(request.url, { allowPrivate })
      if (refused !== null) return failed('url_refused', refused)
      const limit = new AbortController()
      let soFar: (() => OutboundAnswer) | null = null
      const { promise: late, resolve: giveUp } = Promise.withResolvers<OutboundResult>()
      const cancel = clock.after(request.timeoutMs, () => {
        const isEnough = request.isCut === true && soFar !== null
        giveUp(isEnough ? soFar!() : failed('timed_out', `No complete response within ${request.timeoutMs} ms.`))
        limit.abort()
      })
      try {
        const begun = (answer: () => OutboundAnswer): void => {
          soFar = answer
        }
        // undici hears of the end only once it is connected; nobody waits for that.
        return await Promise.race([late, exchange(request, limit.signal, begun)])
      } catch (cause) {
        if (cause instanceof AddressRefused)
          return failed('address_refused', 'The host must resolve to public addresses only.')
        // Broken off behind the head of the answer.
        const partial = soFar as (() => OutboundAnswer) | null
        if (request.isCut === true && partial !== null) return partial()
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
